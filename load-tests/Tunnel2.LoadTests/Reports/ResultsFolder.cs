using System.Globalization;
using System.Text;
using Tunnel2.LoadTests.Running;
using Tunnel2.TestUtilities;

namespace Tunnel2.LoadTests.Reports;

/// <summary>Where results are written. That it can be written is known before anything runs.</summary>
internal sealed class ResultsFolder
{
    private const string JsonName = "results.json";
    private const string MarkdownName = "results.md";
    private const string HtmlName = "results.html";

    private readonly string _path;

    private ResultsFolder(string path) => _path = path;

    /// <summary>The page for people.</summary>
    public string HtmlPath => PathOf(HtmlName);

    /// <summary>Makes the folder and tries to write into it.</summary>
    /// <param name="path">The folder; null: a new one below artifacts/load-tests of the repository.</param>
    /// <exception cref="LoadFailedException">It cannot be written.</exception>
    public static ResultsFolder Prepare(string? path)
    {
        var folder = path;
        try
        {
            var now = TimeProvider.System.GetUtcNow().ToString("yyyyMMdd-HHmmss", CultureInfo.InvariantCulture);
            folder = Path.GetFullPath(path ?? Path.Combine(RepositoryFolder.Path, "artifacts", "load-tests", now));
            Directory.CreateDirectory(folder);
            var probe = Path.Combine(folder, ".probe");
            File.WriteAllBytes(probe, []);
            File.Delete(probe);
            foreach (var file in new[] { JsonName, MarkdownName, HtmlName }.Select(name => Path.Combine(folder, name)).Where(Path.Exists))
            {
                // Of an earlier run, and to be written anew.
                File.OpenWrite(file).Dispose();
            }
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new LoadFailedException($"Results cannot be written into {folder ?? "the repository"}: {e.Message}");
        }

        return new ResultsFolder(folder);
    }

    /// <summary>A file or folder in it.</summary>
    public string PathOf(string name) => Path.Combine(_path, name);

    /// <summary>Writes the results in all three forms, each also when another fails.</summary>
    /// <returns>What could not be written, a sentence for each.</returns>
    public IReadOnlyList<string> Write(IReadOnlyList<ScenarioResult> results)
    {
        var report = LoadReport.Of(results);
        var mistakes = new List<string>();
        Write(JsonName, JsonReport.Of(report), mistakes);
        Write(MarkdownName, MarkdownReport.Of(report), mistakes);
        Write(HtmlName, HtmlReport.Of(report), mistakes);
        return mistakes;
    }

    private void Write(string name, string text, List<string> mistakes)
    {
        try
        {
            File.WriteAllText(PathOf(name), text, new UTF8Encoding(false));
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            mistakes.Add($"{PathOf(name)} could not be written: {e.Message}");
        }
    }
}
