using System.Collections.Concurrent;
using System.Net.Sockets;
using Tunnel2.TestBackend;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>
/// A whole tunnel over real sockets: entry, agent and backend in this process. After a test that passed it is checked that nothing was left
/// behind: no open stream, all credit back, no session after the end, no error in the log.
/// </summary>
internal sealed class TunnelFixture : IAsyncDisposable
{
    /// <summary>Tests connect from several threads at once.</summary>
    private readonly ConcurrentQueue<IDisposable> _visitors = [];
    private readonly CancellationTokenSource _outOfPatience = new();

    /// <summary>No exchange of a test takes this long: a visitor that waits longer fails the test instead of hanging it.</summary>
    private readonly TimeSpan _patience;

    private readonly TestBackendServer? _backend;
    private readonly RawTcpServer? _rawBackend;
    private readonly CuttingProxy? _link;
    private bool _isUp = true;

    private TunnelFixture(
        EntryFixture entry, AgentFixture agent, CuttingProxy? link, TestBackendServer? backend, RawTcpServer? rawBackend, TimeSpan patience)
    {
        _patience = patience;
        Entry = entry;
        Agent = agent;
        _link = link;
        _backend = backend;
        _rawBackend = rawBackend;
        _outOfPatience.CancelAfter(_patience);
    }

    /// <summary>The Host under which the tunnel is reached.</summary>
    public const string Host = "web.localhost";

    public EntryFixture Entry { get; }

    public AgentFixture Agent { get; }

    /// <summary>The relay between agent and entry.</summary>
    public CuttingProxy Link => _link!;

    public TestBackendServer Backend => _backend!;

    public RawTcpServer RawBackend => _rawBackend!;

    /// <summary>Runs a test on a tunnel to the test backend.</summary>
    public static async Task RunAsync(Func<TunnelFixture, Task> test, TunnelSetup? setup = null)
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions());
        await RunAsync(test, setup ?? new TunnelSetup(), backend.Port, backend, null);
    }

    /// <summary>Runs a test on a tunnel to a backend that does what the test says.</summary>
    public static async Task RunAsync(Func<RawConnection, Task> onConnection, Func<TunnelFixture, Task> test, TunnelSetup? setup = null)
    {
        await using var backend = RawTcpServer.Start(onConnection);
        await RunAsync(test, setup ?? new TunnelSetup(), backend.Port, null, backend);
    }

    /// <summary>Runs a test on a tunnel to some port.</summary>
    public static Task RunAsync(int backendPort, Func<TunnelFixture, Task> test, TunnelSetup? setup = null) =>
        RunAsync(test, setup ?? new TunnelSetup(), backendPort, null, null);

    private static async Task RunAsync(
        Func<TunnelFixture, Task> test, TunnelSetup setup, int backendPort, TestBackendServer? backend, RawTcpServer? rawBackend)
    {
        await using var entry = await EntryFixture.StartAsync(setup.EntryTime, setup.Settings);
        await using var link = setup.CanBeCut ? CuttingProxy.Start(entry.Uplink) : null;
        if (link is not null)
        {
            setup.Link(link);
        }

        var options = setup.Agent(AgentFixture.Options(link?.Port ?? entry.Uplink.Port, backendPort));
        await using var agent = await AgentFixture.StartReadyAsync(
            options, new AgentEventLog { WantsRequests = setup.WantsRequests }, setup.AgentTime, setup.AgentEngine());
        await using var tunnel = new TunnelFixture(entry, agent, link, backend, rawBackend, setup.Patience);
        try
        {
            await test(tunnel);
        }
        catch (Exception exception) when (tunnel._outOfPatience.IsCancellationRequested)
        {
            throw new TimeoutException($"A visitor waited for more than {setup.Patience.TotalSeconds} s.", exception);
        }

        await tunnel.VerifyAsync(setup.ExpectedErrors);
    }

    /// <summary>Connects a visitor.</summary>
    public async Task<RawHttpClient> ConnectAsync(int receiveBufferSize = 0)
    {
        var visitor = await RawHttpClient.ConnectAsync(Entry.Http, receiveBufferSize);
        _outOfPatience.Token.UnsafeRegister(static socket => ((Socket)socket!).Dispose(), visitor.Socket);
        _visitors.Enqueue(visitor.Socket);
        return visitor;
    }

    /// <summary>One request without a body on a connection of its own.</summary>
    public async Task<(RawHttpHead Head, RawHttpBody Body)> ExchangeAsync(
        string target, string method = "GET", string fields = "", string host = Host)
    {
        await using var visitor = await ConnectAsync();
        return await visitor.ExchangeAsync(target, host, method, fields);
    }

    /// <summary>A visitor that speaks through .NET's own client.</summary>
    public HttpClient CreateClient()
    {
        var client = new HttpClient(new SocketsHttpHandler
        {
            UseProxy = false,
            UseCookies = false,
            AllowAutoRedirect = false,
            Expect100ContinueTimeout = _patience,
            ConnectCallback = async (_, cancellationToken) =>
            {
                var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                await socket.ConnectAsync(Entry.Http, cancellationToken);
                return new NetworkStream(socket, ownsSocket: true);
            },
        })
        {
            BaseAddress = new Uri($"http://{Host}:{Entry.Http.Port}/"),
            Timeout = _patience,
        };
        _visitors.Enqueue(client);
        return client;
    }

    /// <summary>Ends the visitors, the entry and the agent, and checks what must hold then.</summary>
    private async Task VerifyAsync(int[] expectedErrors)
    {
        Assert.False(_outOfPatience.IsCancellationRequested, $"A visitor waited for more than {_patience.TotalSeconds} s.");
        CloseVisitors();
        await Entry.AssertQuietAsync();
        _isUp = false;
        await Entry.StopAsync();
        if (!Agent.Completion.IsCompleted)
        {
            Assert.Equal(0, await Agent.StopAsync());
        }

        Entry.Log.AssertNoErrors(expectedErrors);
        UnobservedExceptions.AssertNone();
    }

    public async ValueTask DisposeAsync()
    {
        CloseVisitors();
        _outOfPatience.Dispose();
        if (_isUp)
        {
            // The test failed: nothing is checked, so that its own failure is the one that is reported.
            await Entry.DisposeAsync();
        }
    }

    private void CloseVisitors()
    {
        while (_visitors.TryDequeue(out var visitor))
        {
            visitor.Dispose();
        }
    }
}
