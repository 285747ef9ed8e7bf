using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>What commands that ask a running server have in common: mistakes, refusals and exit codes. Stateless.</summary>
internal static class ApiCommand
{
    /// <summary>Runs one.</summary>
    /// <param name="line">Its words.</param>
    /// <param name="mistake">What is wrong with them; null where nothing is.</param>
    /// <param name="usage">The lines after a mistake.</param>
    /// <param name="error">Where mistakes and refusals go.</param>
    /// <param name="environment">Finds a variable of the environment; null: that of the process.</param>
    /// <param name="run">Asks the server, and writes what it says.</param>
    /// <returns>0; 1 when the server refuses or does not answer; 2 for a wrong command line.</returns>
    public static async Task<int> RunAsync(
        ApiCommandLine? line,
        string? mistake,
        string usage,
        TextWriter error,
        Func<string, string?>? environment,
        Func<EntryApiClient, Task> run)
    {
        if (line is null || mistake is not null)
        {
            await error.WriteLineAsync($"tunnel2-entry: {mistake}").ConfigureAwait(false);
            await error.WriteLineAsync(usage).ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        try
        {
            using var client = EntryApiClient.Create(line, environment ?? Environment.GetEnvironmentVariable);
            await run(client).ConfigureAwait(false);
            return 0;
        }
        catch (ApiCommandException exception)
        {
            await error.WriteLineAsync($"tunnel2-entry: {exception.Message}").ConfigureAwait(false);
            return exception.ExitCode;
        }
    }
}
