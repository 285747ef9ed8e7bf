using System.Net.Sockets;
using System.Text;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Client.Tests.Exchanges;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.Protocol.Headers;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.InMemory;

/// <summary>
/// The exchanges of one uplink in memory: the test is ProxyEntry at the one end and the backend at the other. Everything happens on the
/// test's own thread and the clock is stopped, so a test that waits for what nothing will bring fails at once.
/// </summary>
internal sealed class ExchangeFixture
{
    private readonly Queue<ScriptedBackend> _opened = new();
    private readonly UplinkExchanges _exchanges;
    private readonly TestEngine _engine;

    private ExchangeFixture(TestEngine engine, AgentOptions options, bool wantsRequests, TunnelSlots? slots)
    {
        _engine = engine;
        Events = new RecordedRequests(wantsRequests);
        Context = new ExchangeContext(options, Events, Time, slots: slots, buffers: Buffers);
        Context.Connector.Dial = (_, giveUp) => OnDial(giveUp);
        _exchanges = new UplinkExchanges(Context, loop: null);
        Pair = UplinkPair.Start(engine, stream =>
        {
            _exchanges.Serve(stream);
            OnServed?.Invoke(stream);
            return Task.CompletedTask;
        });
    }

    /// <summary>Trusts its backend, so that connections are used again at once.</summary>
    public static AgentOptions Options { get; } = new() { Upstream = new BackendTarget(false, "127.0.0.1", 3000), TrustsBackend = true };

    public ManualTimeProvider Time { get; } = new();

    public BufferPool Buffers { get; } = new();

    public RecordedRequests Events { get; }

    public ExchangeContext Context { get; }

    public UplinkPair Pair { get; }

    /// <summary>Connections that were asked for.</summary>
    public int Dialled { get; private set; }

    /// <summary>Why the next connections fail; Success: they do not.</summary>
    public SocketError Refusal { get; set; } = SocketError.Success;

    /// <summary>How connections wait for their buffers from now on: see <see cref="IByteTransport.WaitsFreely"/>.</summary>
    public bool WaitsFreely { get; set; } = true;

    /// <summary>Called with the agent's end of each stream, once its exchange has begun.</summary>
    public Action<TunnelStream>? OnServed { get; set; }

    /// <summary>Called with the agent's end of each new connection.</summary>
    public Action<BackendTransport>? OnOpened { get; set; }

    /// <summary>Opening a connection waits for this, where it is set; the call's own token gives up.</summary>
    public Func<CancellationToken, Task>? BeforeOpening { get; set; }

    /// <summary>Runs a test's body, and checks that all is given back behind it.</summary>
    public static Task RunAsync(
        Func<ExchangeFixture, Task> body, AgentOptions? options = null, bool wantsRequests = false, int? connections = null) =>
        TestEngine.RunAsync(EngineKind.Inline, async engine =>
        {
            var fixture = new ExchangeFixture(
                engine, options ?? Options, wantsRequests,
                connections is { } limit ? new BackendSlots(limit, TimeProvider.System).AddTunnel() : null);
            await body(fixture);
            await fixture.EndAsync();
        });

    /// <summary>A visitor's request reaches the agent.</summary>
    public TunnelStream Ask(
        string target = "/", string method = "GET", string body = "", bool end = true, params (string Name, string Value)[] fields) =>
        Ask(RequestBlocks.Make(target, method, fields: fields), body, end);

    /// <summary>A visitor asks for another protocol.</summary>
    public TunnelStream AskToUpgrade(string body = "") =>
        Ask(RequestBlocks.Make("/ws", flags: HeaderBlockFlags.Upgrade, fields: ("Upgrade", "websocket")), body, end: false);

    /// <summary>The same, with any block.</summary>
    public TunnelStream Ask(byte[] block, string body = "", bool end = true)
    {
        var stream = Pair.Open();
        block.CopyTo(stream.BeginHead(block.Length, body.Length));
        Assert.Equal(StreamSendStatus.Sent, stream.EndHead(block.Length, Encoding.Latin1.GetBytes(body), end, out var taken));
        Assert.Equal(body.Length, taken);
        return stream;
    }

    /// <summary>Sends more of a body.</summary>
    public static async Task SendBodyAsync(TunnelStream stream, string body, bool end = false) =>
        Assert.Equal(StreamSendStatus.Sent, await stream.WriteAsync(Encoding.Latin1.GetBytes(body), end));

    /// <summary>The next connection that the agent opens.</summary>
    public async Task<ScriptedBackend> AcceptAsync()
    {
        await UntilAsync(() => _opened.Count > 0, "the agent connects to the backend");
        return _opened.Dequeue();
    }

    /// <summary>One whole exchange: request, head as the backend gets it, response, and what ProxyEntry gets of it.</summary>
    public async Task<Answer> ExchangeAsync(string response, string method = "GET", ScriptedBackend? backend = null)
    {
        var stream = Ask(method: method);
        backend ??= await AcceptAsync();
        await backend.ReadHeadAsync();
        await backend.SendAsync(response);
        return await Answer.ReadAsync(stream);
    }

    /// <summary>Opens a connection by a first exchange, after which it is kept.</summary>
    public async Task<ScriptedBackend> KeepOneAsync()
    {
        var stream = Ask();
        var backend = await AcceptAsync();
        await backend.ReadHeadAsync();
        await backend.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
        Assert.True((await Answer.ReadAsync(stream)).IsWhole);
        await UntilAsync(() => Context.Backends.Idle.Count == 1, "the connection is kept");
        return backend;
    }

    public Task UntilAsync(Func<bool> condition, string what) => _engine.UntilAsync(condition, what);

    /// <summary>Lets everything happen that can.</summary>
    public Task SettleAsync() => _engine.YieldAsync(20);

    private async Task EndAsync()
    {
        await UntilAsync(() => Context.Active == 0, "no exchange is under way");
        if (Pair.Entry.End is null)
        {
            await Pair.FinishAsync();
        }
        else
        {
            await Pair.EndedAsync();
        }

        Context.Dispose();
        Assert.Empty(_opened);
        Assert.Equal(0, Buffers.Outstanding);
    }

    private async ValueTask<(IByteTransport? Transport, SocketError Error)> OnDial(CancellationToken giveUp)
    {
        Dialled++;
        if (BeforeOpening is { } wait)
        {
            await wait(giveUp);
        }

        if (Refusal != SocketError.Success)
        {
            return (null, Refusal);
        }

        var (agents, own) = InMemoryTransport.CreatePair(64 * 1024, _engine.Scheduler);
        var transport = new BackendTransport(agents) { WaitsFreely = WaitsFreely };
        OnOpened?.Invoke(transport);
        _opened.Enqueue(new ScriptedBackend(own, transport));
        return (transport, SocketError.Success);
    }
}
