using System.Runtime.Versioning;
using Tunnel2.ProxyEntry.AccessLog;

namespace Tunnel2.ProxyEntry.Tests.AccessLog;

public sealed class RotatingFileSinkTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-access-log-").FullName;

    private string FilePath => Path.Combine(_folder, "access.log");

    [Fact]
    public void A_file_that_would_get_too_large_is_put_aside_and_the_oldest_goes()
    {
        using (var sink = new RotatingFileSink(FilePath, maxBytes: 20, maxFiles: 3))
        {
            for (var i = 0; i < 9; i++)
            {
                sink.Write([.. "line "u8, (byte)('0' + i), (byte)'\n']);
            }
        }

        Assert.Equal("line 8\n", File.ReadAllText(FilePath));
        Assert.Equal("line 6\nline 7\n", File.ReadAllText(FilePath + ".1"));
        Assert.Equal("line 4\nline 5\n", File.ReadAllText(FilePath + ".2"));
        Assert.Equal(3, Directory.GetFiles(_folder).Length);
    }

    [Fact]
    public void With_one_file_nothing_is_kept_aside()
    {
        using (var sink = new RotatingFileSink(FilePath, maxBytes: 10, maxFiles: 1))
        {
            sink.Write("first\n"u8);
            sink.Write("second\n"u8);
        }

        Assert.Equal("second\n", File.ReadAllText(FilePath));
        Assert.Single(Directory.GetFiles(_folder));
    }

    [Fact]
    public void A_new_start_continues_with_the_file()
    {
        for (var i = 0; i < 2; i++)
        {
            using var sink = new RotatingFileSink(FilePath, maxBytes: 100, maxFiles: 2);
            sink.Write("line\n"u8);
        }

        Assert.Equal("line\nline\n", File.ReadAllText(FilePath));
    }

    [Fact]
    public void A_file_that_cannot_be_opened_is_tried_again_by_the_next_write()
    {
        var folder = Path.Combine(_folder, "later");
        using var sink = new RotatingFileSink(Path.Combine(folder, "access.log"), maxBytes: 100, maxFiles: 2);

        Assert.ThrowsAny<IOException>(() => sink.Write("lost\n"u8));
        Directory.CreateDirectory(folder);
        sink.Write("kept\n"u8);

        Assert.Equal("kept\n", File.ReadAllText(Path.Combine(folder, "access.log")));
    }

    [Fact]
    public void A_full_disk_is_an_IOException()
    {
        Assert.SkipUnless(File.Exists("/dev/full"), "Needs /dev/full (Linux).");
        using var sink = new RotatingFileSink("/dev/full", maxBytes: 100, maxFiles: 2);

        var mode = OperatingSystem.IsWindows() ? default : File.GetUnixFileMode("/dev/full");

        Assert.ThrowsAny<IOException>(() => sink.Write("lost\n"u8));

        // A device is everybody's.
        Assert.Equal(mode, OperatingSystem.IsWindows() ? default : File.GetUnixFileMode("/dev/full"));
    }

    [Fact]
    public void Only_their_owner_may_read_the_files_also_those_that_were_there_before()
    {
        if (OperatingSystem.IsWindows())
        {
            Assert.Skip("Windows has no such modes.");
            return;
        }

        foreach (var path in new[] { FilePath, FilePath + ".1", FilePath + ".2" })
        {
            File.WriteAllText(path, "line with a visitor\n");
            File.SetUnixFileMode(path, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead | UnixFileMode.OtherRead);
        }

        using (var sink = new RotatingFileSink(FilePath, maxBytes: 100, maxFiles: 4))
        {
            sink.Write("line\n"u8);
            AssertModes(3);
            sink.Write(new byte[90]);
            AssertModes(4);
        }

        [UnsupportedOSPlatform("windows")]
        void AssertModes(int count)
        {
            var files = Directory.GetFiles(_folder);
            Assert.Equal(count, files.Length);
            foreach (var path in files)
            {
                Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(path));
            }
        }
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);
}
