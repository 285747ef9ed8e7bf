using Tunnel2.Transport.Outputs;

namespace Tunnel2.Transport.Tests.Outputs;

public sealed class FileFailureTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public void What_is_there_in_place_of_a_file_is_said_and_otherwise_the_systems_words_on_one_line()
    {
        File.CreateSymbolicLink(In("dangling"), In("gone\u001b[31m"));
        File.CreateSymbolicLink(In("loop"), In("loop"));
        Assert.Equal("it is a folder, not a file.", Reason(_folder.FullName));
        Assert.Equal("it is a symbolic link that leads to itself.", Reason(In("loop")));
        var dangling = Reason(In("dangling"));
        Assert.StartsWith($"it is a symbolic link to \"{In("gone")}", dangling, StringComparison.Ordinal);
        Assert.EndsWith(", which is not there.", dangling, StringComparison.Ordinal);
        Assert.DoesNotContain('\u001b', dangling);
        Assert.Equal("two lines", Reason(In("nothing")));
        Assert.Equal("two lines", Reason("a\0b"));
    }

    private static string Reason(string path) => FileFailure.Reason(path, new IOException("two\nlines"));

    private string In(string name) => Path.Combine(_folder.FullName, name);
}
