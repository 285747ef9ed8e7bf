using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

[assembly: AssemblyFixture(typeof(SharedChromium))]

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>
/// One chromium for all tests with a page. Each page has a context of its own, which shares neither connections nor what is kept with
/// others. Thread-safe.
/// </summary>
public sealed class SharedChromium : IAsyncDisposable
{
    private const string Path = "/usr/bin/chromium";
    private const string Listening = "listening ";

    private static readonly Lazy<Task<(ProcessRunner Process, string Address)>> _started = new(StartAsync);

    /// <summary>Skips the test where there is none.</summary>
    public static void AssertInstalled() => Assert.SkipUnless(File.Exists(Path), $"Needs {Path} (Debian package chromium).");

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        if (!_started.IsValueCreated || !_started.Value.IsCompletedSuccessfully)
        {
            return;
        }

        // In order: it removes its profile.
        var process = (await _started.Value).Process;
        process.Terminate();
        await process.WaitForExitAsync();
        await process.DisposeAsync();
    }

    /// <summary>Starts a script with a page.</summary>
    internal static async Task<ProcessRunner> StartPageAsync(string script, params string[] arguments)
    {
        AssertInstalled();
        var (_, address) = await _started.Value;
        return NodeScripts.Start(script, new Dictionary<string, string?> { ["TUNNEL2_CHROMIUM"] = address }, arguments);
    }

    private static async Task<(ProcessRunner Process, string Address)> StartAsync()
    {
        var process = NodeScripts.Start("chromium-server.mjs");
        var line = await process.WaitForLineAsync(static line => line.StartsWith(Listening, StringComparison.Ordinal), Limits.Start);
        return (process, line[Listening.Length..]);
    }
}
