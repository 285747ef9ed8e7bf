using System.Net.Sockets;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>ProxyEntry and an agent, each a process of its own, and the backend that all tests share.</summary>
internal sealed class RealTunnel : IAsyncDisposable
{
    /// <summary>The public name.</summary>
    public const string Name = "web";

    private readonly string _engine;

    private RealTunnel(EntryProcess entry, Uri backendAddress, ProcessRunner agent, string engine)
    {
        Entry = entry;
        BackendAddress = backendAddress;
        Agent = agent;
        _engine = engine;
    }

    public EntryProcess Entry { get; }

    /// <summary>Where the backend listens.</summary>
    public Uri BackendAddress { get; }

    public ProcessRunner Agent { get; private set; }

    /// <summary>The public URL, without a slash at its end.</summary>
    public string Url => $"http://{Host}";

    /// <summary>The public host with its port.</summary>
    public string Host => $"{Name}.localhost:{Entry.Public.Port}";

    /// <summary>Starts both; a request would work when the task ends.</summary>
    /// <param name="engine"><c>auto</c>, <c>epoll</c> or <c>portable</c>, for ProxyEntry and agent.</param>
    /// <param name="agentFlags">More flags for the agent.</param>
    public static async Task<RealTunnel> StartAsync(string engine = "auto", params string[] agentFlags) =>
        await StartWithAsync([], engine, agentFlags);

    /// <summary>The same with settings of ProxyEntry, each an argument.</summary>
    public static async Task<RealTunnel> StartWithAsync(string[] settings, string engine = "auto", params string[] agentFlags)
    {
        var backend = SharedBackend.GetAddressAsync();
        var entry = await EntryProcess.StartAsync([$"--Tunnel2:Engine={engine}", .. settings]);
        var address = await backend;
        var agent = await StartAgentAsync(entry, address.Port, engine, agentFlags);
        return new RealTunnel(entry, address, agent, engine);
    }

    /// <summary>Starts an agent and waits until it says that a request would work.</summary>
    public static async Task<ProcessRunner> StartAgentAsync(
        EntryProcess entry, int backendPort, string engine = "auto", params string[] flags)
    {
        var agent = BuiltPrograms.StartAgent(
            ["http", $"{backendPort}", "--name", Name, "--server", entry.Uplink.ToString(), .. flags],
            new Dictionary<string, string?> { ["TUNNEL2_ENGINE"] = engine });
        await WaitUntilReadyAsync(agent, flags.Contains("--json"));
        return agent;
    }

    /// <summary>A client whose connections all go to ProxyEntry: not every resolver knows names below localhost.</summary>
    public HttpClient CreateClient() => new(new SocketsHttpHandler
    {
        UseProxy = false,
        ConnectCallback = async (_, cancellationToken) =>
        {
            var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
            await socket.ConnectAsync(Entry.Public, cancellationToken);
            return new NetworkStream(socket, ownsSocket: true);
        },
    })
    { Timeout = Limits.Work };

    /// <summary>Starts the agent again, after it was killed.</summary>
    public async Task StartAgentAgainAsync()
    {
        await Agent.DisposeAsync();
        Agent = await StartAgentAsync(Entry, BackendAddress.Port, _engine);
    }

    public async ValueTask DisposeAsync()
    {
        await Agent.DisposeAsync();
        await Entry.DisposeAsync();
    }

    private static Task<string> WaitUntilReadyAsync(ProcessRunner agent, bool isJson) => agent.WaitForLineAsync(
        line => isJson ? line.Contains("\"ready\"", StringComparison.Ordinal) : line.StartsWith("Forwarding ", StringComparison.Ordinal),
        Limits.Start);
}
