using System.Globalization;
using System.Text;
using Tunnel2.LoadTests.Running;

namespace Tunnel2.LoadTests.Reports;

/// <summary>Where results are written. That it can be written is known before anything runs.</summary>
internal sealed class ResultsFolder
{
    private readonly string _path;

    private ResultsFolder(string path) => _path = path;

    /// <summary>The page for people.</summary>
    public string HtmlPath => PathOf("results.html");

    /// <summary>Makes the folder and tries to write into it.</summary>
    /// <param name="path">The folder; null: a new one below artifacts/load-tests of the repository.</param>
    /// <exception cref="LoadFailedException">It cannot be written.</exception>
    public static ResultsFolder Prepare(string? path)
    {
        var folder = Path.GetFullPath(path ?? Path.Combine(
            BuiltPrograms.Repository, "artifacts", "load-tests", TimeProvider.System.GetUtcNow().ToString("yyyyMMdd-HHmmss", CultureInfo.InvariantCulture)));
        try
        {
            Directory.CreateDirectory(folder);
            var probe = Path.Combine(folder, ".probe");
            File.WriteAllBytes(probe, []);
            File.Delete(probe);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new LoadFailedException($"Results cannot be written into {folder}: {e.Message}");
        }

        return new ResultsFolder(folder);
    }

    /// <summary>A file or folder in it.</summary>
    public string PathOf(string name) => Path.Combine(_path, name);

    /// <summary>Writes the results in all three forms.</summary>
    public void Write(IReadOnlyList<ScenarioResult> results)
    {
        var report = LoadReport.Of(results);
        File.WriteAllText(PathOf("results.json"), JsonReport.Of(report));
        File.WriteAllText(PathOf("results.md"), MarkdownReport.Of(report), Encoding.UTF8);
        File.WriteAllText(HtmlPath, HtmlReport.Of(report), Encoding.UTF8);
    }
}
