using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

[assembly: AssemblyFixture(typeof(SharedBackend))]

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>
/// One test backend, a process of its own, for all tests: it keeps nothing from one request to the next, and its start would cost each of
/// them a second of a processor. Thread-safe.
/// </summary>
public sealed class SharedBackend : IAsyncDisposable
{
    private const string Listening = "Listening on ";

    private static readonly Lazy<Task<(ProcessRunner Process, Uri Address)>> _started = new(StartAsync);

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        if (_started.IsValueCreated)
        {
            await (await _started.Value).Process.DisposeAsync();
        }
    }

    /// <summary>Where it listens, started when it is first asked for.</summary>
    internal static async Task<Uri> GetAddressAsync() => (await _started.Value).Address;

    private static async Task<(ProcessRunner Process, Uri Address)> StartAsync()
    {
        var process = BuiltPrograms.StartBackend(["--listen", "127.0.0.1:0"]);
        var line = await process.WaitForLineAsync(static line => line.StartsWith(Listening, StringComparison.Ordinal), Limits.Start);
        return (process, new Uri(line[Listening.Length..]));
    }
}
