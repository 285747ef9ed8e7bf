using System.Diagnostics;

namespace Tunnel2.ClusterFaults.Networks;

/// <summary>Short programs of the system, such as <c>ip</c>, <c>nft</c> and <c>psql</c>.</summary>
internal static class Tool
{
    /// <summary>Runs one to its end.</summary>
    /// <returns>What it printed.</returns>
    /// <exception cref="FaultSuiteException">It cannot be started, or ended with another code than 0.</exception>
    public static async Task<string> RunAsync(string program, params string[] arguments)
    {
        var (code, output, error) = await TryAsync(program, arguments);
        return code == 0
            ? output
            : throw new FaultSuiteException($"{program} {string.Join(' ', arguments)} ended with {code}: {error.Trim()}");
    }

    /// <summary>The same; the exit code is the caller's to judge.</summary>
    /// <exception cref="FaultSuiteException">It cannot be started.</exception>
    public static async Task<(int Code, string Output, string Error)> TryAsync(string program, params string[] arguments)
    {
        try
        {
            using var process = Process.Start(new ProcessStartInfo(program, arguments)
            {
                RedirectStandardOutput = true,
                RedirectStandardError = true,
                WorkingDirectory = "/",
            })!;
            var error = process.StandardError.ReadToEndAsync();
            var output = await process.StandardOutput.ReadToEndAsync();
            await process.WaitForExitAsync();
            return (process.ExitCode, output, await error);
        }
        catch (System.ComponentModel.Win32Exception exception)
        {
            throw new FaultSuiteException($"{program} cannot be started: {exception.Message}");
        }
    }

    /// <summary>Runs one whose children live on: its outputs are not read, because they would keep them open.</summary>
    /// <exception cref="FaultSuiteException">It ended with another code than 0.</exception>
    public static async Task RunQuietAsync(string program, params string[] arguments)
    {
        string[] all = ["-c", "exec \"$@\" >/dev/null 2>&1 </dev/null", "sh", program, .. arguments];
        using var process = Process.Start(new ProcessStartInfo("sh", all) { WorkingDirectory = "/" })!;
        await process.WaitForExitAsync();
        if (process.ExitCode != 0)
        {
            throw new FaultSuiteException($"{program} {string.Join(' ', arguments)} ended with {process.ExitCode}");
        }
    }
}
