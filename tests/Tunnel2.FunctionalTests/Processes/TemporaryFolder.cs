namespace Tunnel2.FunctionalTests.Processes;

/// <summary>A folder of one test, deleted at its end.</summary>
internal sealed class TemporaryFolder : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");

    /// <summary>The path of a file in it.</summary>
    public string this[string file] => Path.Combine(_folder.FullName, file);

    public void Dispose() => _folder.Delete(recursive: true);
}
