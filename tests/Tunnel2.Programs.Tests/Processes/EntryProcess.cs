using System.Net;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>A running <c>tunnel2-entry</c> on ports of its own. Can be started again on the same ports.</summary>
internal sealed class EntryProcess : IAsyncDisposable
{
    private readonly string[] _extraArguments;

    private readonly int? _files;

    private EntryProcess(string[] extraArguments, int? files)
    {
        _files = files;
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

    /// <summary>
    /// A command line for a second one on the same ports, except for administration, which an ending one serves to its end.
    /// </summary>
    public IEnumerable<string> ArgumentsBeside => [.. Arguments, "--Tunnel2:Admin:Listen=127.0.0.1:0"];

    /// <summary>Starts it; it serves when the task ends.</summary>
    public static Task<EntryProcess> StartAsync(params string[] extraArguments) => StartWithFilesAsync(null, extraArguments);

    /// <summary>Starts one that may have so many files open.</summary>
    public static async Task<EntryProcess> StartWithFilesAsync(int? files, params string[] extraArguments)
    {
        for (var attempt = 1; ; attempt++)
        {
            var entry = new EntryProcess(extraArguments, files);
            try
            {
                await entry.StartAgainAsync();
                return entry;
            }
            catch (InvalidOperationException)
                when (attempt < 3 && entry.Runner.Lines.Any(static line => line.Contains("already in use", StringComparison.Ordinal)))
            {
                // Another program on the machine took a port between the look and the start.
                await entry.DisposeAsync();
            }
        }
    }

    /// <summary>Starts it again on the same ports, after it was killed.</summary>
    public async Task StartAgainAsync()
    {
        if (Runner is not null)
        {
            await Runner.DisposeAsync();
        }

        Runner = BuiltPrograms.StartEntry(Arguments, _files);
        await Runner.WaitForLineAsync(static line => line.Contains("Ready: ", StringComparison.Ordinal), Limits.Start);
    }

    public ValueTask DisposeAsync() => Runner.DisposeAsync();
}
