using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.Tests.Sockets;

public sealed class OpenFilesTests
{
    [Theory]
    [InlineData(
        "Limit                     Soft Limit           Hard Limit           Units     \n"
            + "Max open files            20000                20000                files     \n",
        20_000)]
    [InlineData("Max open files            unlimited            unlimited            files     \n", int.MaxValue)]
    [InlineData("Max cpu time              unlimited            unlimited            seconds   \n", int.MaxValue)]
    [InlineData(null, int.MaxValue)]
    public void The_limit_is_read(string? limits, int limit)
    {
        string root = Directory.CreateTempSubdirectory("tunnel2-limits-").FullName;
        try
        {
            if (limits is not null)
            {
                Directory.CreateDirectory(Path.Combine(root, "proc/self"));
                File.WriteAllText(Path.Combine(root, "proc/self/limits"), limits);
            }

            Assert.Equal(limit, OpenFiles.Limit(root));
        }
        finally
        {
            Directory.Delete(root, recursive: true);
        }
    }
}
