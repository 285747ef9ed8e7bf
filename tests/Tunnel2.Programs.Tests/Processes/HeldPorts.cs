using System.Net;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>A running <c>tunnel2-ports</c> with sockets on free ports of loopback, and each ProxyEntry that is started on them.</summary>
internal sealed class HeldPorts : IAsyncDisposable
{
    private const string FirstWords = "Holding ";

    private readonly TemporaryFolder _folder;
    private readonly Dictionary<string, IPEndPoint> _endPoints;

    private HeldPorts(TemporaryFolder folder, ProcessRunner process, Dictionary<string, IPEndPoint> endPoints)
    {
        _folder = folder;
        Process = process;
        _endPoints = endPoints;
    }

    /// <summary>The holder.</summary>
    public ProcessRunner Process { get; }

    /// <summary>Its Unix socket.</summary>
    public string SocketPath => _folder["ports.sock"];

    /// <summary>Where the socket of a name listens.</summary>
    public IPEndPoint this[string name] => _endPoints[name];

    /// <summary>Starts one; it holds the sockets when the task ends.</summary>
    public static async Task<HeldPorts> StartAsync(params string[] names)
    {
        var folder = new TemporaryFolder();
        var process = BuiltPrograms.StartPorts(["--socket", folder["ports.sock"], .. names.Select(static name => $"{name}=127.0.0.1:0")]);
        var line = await process.WaitForLineAsync(static line => line.StartsWith(FirstWords, StringComparison.Ordinal), Limits.Start);
        var held = line[FirstWords.Length..line.IndexOf(';', StringComparison.Ordinal)].Split(", ").Select(static pair => pair.Split('='));
        return new HeldPorts(folder, process, held.ToDictionary(static pair => pair[0], static pair => IPEndPoint.Parse(pair[1])));
    }

    /// <summary>Starts a ProxyEntry that takes its sockets from here; does not wait for it.</summary>
    public ProcessRunner StartEntry(params string[] arguments) => BuiltPrograms.StartEntry(
        [$"--Tunnel2:ListenersFrom={SocketPath}", $"--Tunnel2:StateFolder={_folder["state"]}", .. arguments]);

    public async ValueTask DisposeAsync()
    {
        await Process.DisposeAsync();
        _folder.Dispose();
    }
}
