using System.Net;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Processes;

/// <summary>A running <c>tunnel2-entry</c> on ports of its own. Can be started again on the same ports.</summary>
internal sealed class EntryProcess : IAsyncDisposable
{
    private readonly string[] _extraArguments;

    private EntryProcess(string[] extraArguments)
    {
        _extraArguments = extraArguments;
        Runner = null!;
    }

    /// <summary>The process that runs now.</summary>
    public ProcessRunner Runner { get; private set; }

    /// <summary>Where visitors connect.</summary>
    public IPEndPoint Public { get; } = new(IPAddress.Loopback, FreePort.Next());

    /// <summary>Where agents connect.</summary>
    public IPEndPoint Uplink { get; } = new(IPAddress.Loopback, FreePort.Next());

    /// <summary>Where administration is.</summary>
    public IPEndPoint Admin { get; } = new(IPAddress.Loopback, FreePort.Next());

    /// <summary>Its command line.</summary>
    public IEnumerable<string> Arguments =>
    [
        $"--Tunnel2:Public:HttpListen={Public}", $"--Tunnel2:Uplink:Listen={Uplink}", $"--Tunnel2:Admin:Listen={Admin}", .. _extraArguments,
    ];

    /// <summary>A command line for a second one on the same ports, but for administration, which an ending one serves to its end.</summary>
    public IEnumerable<string> ArgumentsBeside => [.. Arguments, "--Tunnel2:Admin:Listen=127.0.0.1:0"];

    /// <summary>Starts it; it serves when the task ends.</summary>
    public static async Task<EntryProcess> StartAsync(params string[] extraArguments)
    {
        var entry = new EntryProcess(extraArguments);
        await entry.StartAgainAsync();
        return entry;
    }

    /// <summary>Starts it again on the same ports, after it was killed.</summary>
    public async Task StartAgainAsync()
    {
        if (Runner is not null)
        {
            await Runner.DisposeAsync();
        }

        Runner = BuiltPrograms.StartEntry(Arguments);
        await Runner.WaitForLineAsync(static line => line.Contains("Ready", StringComparison.OrdinalIgnoreCase), Limits.Start);
    }

    public ValueTask DisposeAsync() => Runner.DisposeAsync();
}
