using System.Diagnostics;
using Tunnel2.Architecture.Tests.Repository;

namespace Tunnel2.Architecture.Tests.Releases;

/// <summary>Runs the small programs that make a release, in a folder of the test's own.</summary>
internal static class ReleaseTools
{
    /// <summary>Whether this machine has a program; a test of what needs it is skipped elsewhere.</summary>
    public static bool Has(string program) => (Environment.GetEnvironmentVariable("PATH") ?? "").Split(Path.PathSeparator)
        .Any(folder => File.Exists(Path.Combine(folder, program)));

    /// <summary>Runs a program at the root of the repository; what it printed.</summary>
    public static async Task<string> RunAsync(string program, params string[] arguments)
    {
        var start = new ProcessStartInfo(program, arguments)
        {
            WorkingDirectory = RepositoryFiles.Root,
            RedirectStandardError = true,
            RedirectStandardOutput = true,
            Environment = { ["SOURCE_DATE_EPOCH"] = "1700000000" },
        };
        using var process = Process.Start(start)!;
        var errors = process.StandardError.ReadToEndAsync(TestContext.Current.CancellationToken);
        var output = await process.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        await process.WaitForExitAsync(TestContext.Current.CancellationToken);
        Assert.True(process.ExitCode == 0, $"{program} ended with {process.ExitCode}: {output}{await errors}");
        return output;
    }
}
