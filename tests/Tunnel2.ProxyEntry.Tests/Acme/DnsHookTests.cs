using Tunnel2.ProxyEntry.Acme;

namespace Tunnel2.ProxyEntry.Tests.Acme;

public sealed class DnsHookTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-hook-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    /// <summary>A failure of a task that no code looks at is lost in a server.</summary>
    [Fact]
    public async Task Output_that_is_open_when_the_program_ends_leaves_no_failure_behind()
    {
        var lost = 0;
        void Count(object? sender, UnobservedTaskExceptionEventArgs arguments)
        {
            if (arguments.Exception.ToString().Contains("System.Diagnostics", StringComparison.Ordinal))
            {
                Interlocked.Increment(ref lost);
            }
        }

        var hook = new DnsHook(Program("head -c 300000 /dev/zero & head -c 300000 /dev/zero >&2 &"), TimeSpan.Zero, TimeProvider.System);
        TaskScheduler.UnobservedTaskException += Count;
        try
        {
            for (var i = 0; i < 100; i++)
            {
                var record = await hook.ShowAsync("_acme-challenge.example.test", "value", TestContext.Current.CancellationToken);
                await record.DisposeAsync();
            }

            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        finally
        {
            TaskScheduler.UnobservedTaskException -= Count;
        }

        Assert.Equal(0, lost);
    }

    private string Program(string script)
    {
        var file = Path.Combine(_folder, "hook");
        File.WriteAllText(file, "#!/bin/sh\n" + script + "\n");
        if (!OperatingSystem.IsWindows())
        {
            File.SetUnixFileMode(file, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
        }

        return file;
    }
}
