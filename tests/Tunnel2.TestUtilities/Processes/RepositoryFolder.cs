namespace Tunnel2.TestUtilities;

/// <summary>The working tree that this program was built in.</summary>
public static class RepositoryFolder
{
    private static readonly Lazy<string> _path = new(Find);

    /// <summary>
    /// Its root. A build for continuous integration hides where its sources are, so it is looked for from the program on upwards.
    /// </summary>
    /// <exception cref="DirectoryNotFoundException">The program runs outside of one.</exception>
    public static string Path => _path.Value;

    private static string Find()
    {
        for (var folder = new DirectoryInfo(AppContext.BaseDirectory); folder is not null; folder = folder.Parent)
        {
            if (File.Exists(System.IO.Path.Combine(folder.FullName, "Tunnel2.sln")))
            {
                return folder.FullName;
            }
        }

        throw new DirectoryNotFoundException(
            $"This program uses what was built in the repository, and is outside of one: no Tunnel2.sln above {AppContext.BaseDirectory}.");
    }
}
