namespace Tunnel2.Architecture.Tests.Repository;

/// <summary>The working tree, found by walking up from the test assembly to Tunnel2.sln. Paths are relative, with slashes.</summary>
internal static class RepositoryFiles
{
    private static readonly string[] _generated = ["bin", "obj", "artifacts", "node_modules", "TestResults", "BenchmarkDotNet.Artifacts"];

    public static string Root { get; } = FindRoot();

    public static string FullPath(string path) => Path.Combine(Root, path);

    public static bool Exists(string path) => File.Exists(FullPath(path)) || Directory.Exists(FullPath(path));

    /// <summary>All files of a kind below a folder, without what builds and tools make.</summary>
    public static IEnumerable<string> All(string extension, string folder = "") =>
        Walk(new DirectoryInfo(FullPath(folder)))
            .Where(file => file.Extension == extension)
            .Select(file => Path.GetRelativePath(Root, file.FullName).Replace('\\', '/'))
            .Order(StringComparer.Ordinal);

    private static IEnumerable<FileInfo> Walk(DirectoryInfo folder)
    {
        foreach (var file in folder.EnumerateFiles())
        {
            yield return file;
        }

        foreach (var child in folder.EnumerateDirectories().Where(child => child.Name != ".git" && !_generated.Contains(child.Name)))
        {
            foreach (var file in Walk(child))
            {
                yield return file;
            }
        }
    }

    private static string FindRoot()
    {
        for (var folder = new DirectoryInfo(AppContext.BaseDirectory); folder is not null; folder = folder.Parent)
        {
            if (File.Exists(Path.Combine(folder.FullName, "Tunnel2.sln")))
            {
                return folder.FullName;
            }
        }

        throw new DirectoryNotFoundException("Tunnel2.sln is in no folder above the test assembly.");
    }
}
