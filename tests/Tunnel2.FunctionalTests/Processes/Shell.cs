using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Processes;

/// <summary>Programs that run to their end.</summary>
internal static class Shell
{
    /// <summary>Runs a program and returns its exit code and both outputs.</summary>
    public static async Task<ShellResult> RunAsync(string program, params string[] arguments)
    {
        await using var process = ProcessRunner.Start(program, arguments);
        return await FinishAsync(process);
    }

    /// <summary>
    /// Runs a pipeline in bash; it fails where one of its commands fails. <paramref name="arguments"/> are $1, $2 and so on.
    /// </summary>
    public static Task<ShellResult> RunBashAsync(string pipeline, params string[] arguments) =>
        RunBashAsync(Limits.Work, pipeline, arguments);

    /// <summary>Runs a pipeline in bash that may take as long as <paramref name="limit"/>.</summary>
    public static async Task<ShellResult> RunBashAsync(TimeSpan limit, string pipeline, params string[] arguments)
    {
        await using var process = ProcessRunner.Start("bash", ["-c", $"set -o pipefail; {pipeline}", "bash", .. arguments]);
        return await FinishAsync(process, limit);
    }

    /// <summary>Runs curl, silent apart from errors, with a time limit.</summary>
    public static Task<ShellResult> CurlAsync(params string[] arguments) => RunAsync("curl", ["-sS", "--max-time", "60", .. arguments]);

    /// <summary>Waits for the end of a started process.</summary>
    public static async Task<ShellResult> FinishAsync(ProcessRunner process, TimeSpan? limit = null)
    {
        var exitCode = await process.WaitForExitAsync(limit ?? Limits.Work);
        return new ShellResult(exitCode, string.Join('\n', process.Lines));
    }

    /// <summary>Sends SIGINT, as Ctrl+C does.</summary>
    public static async Task InterruptAsync(ProcessRunner process) =>
        (await RunAsync("kill", "-INT", $"{process.Id}")).EnsureSuccess();
}
