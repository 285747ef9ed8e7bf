using Tunnel2.Multiplexing.Handshake;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Tests.InMemory;

/// <summary>One connection of an agent to the acceptor: it says what the test says, first in the handshake and then as an uplink.</summary>
internal sealed class DialledAgent(TestEngine engine, InMemoryTransport own, InMemoryTransport acceptors, Task serving)
{
    private readonly List<(GoAwayPhase Phase, SessionEndReason Reason)> _goodbyes = [];
    private ReadOnlyMemory<byte> _rest;

    /// <summary>The agent's end of the connection.</summary>
    public InMemoryTransport Transport => own;

    /// <summary>ProxyEntry's end of the connection.</summary>
    public InMemoryTransport Acceptors => acceptors;

    /// <summary>Completes when the acceptor is done with the connection.</summary>
    public Task Serving => serving;

    /// <summary>The uplink, once it was welcomed.</summary>
    public UplinkConnection Uplink { get; private set; } = null!;

    /// <summary>Why the uplink ended.</summary>
    public Task<UplinkEnd> Run { get; private set; } = Task.FromResult(new UplinkEnd(SessionEndReason.None));

    /// <summary>What the agent was granted.</summary>
    public WelcomeMessage Welcome { get; private set; } = null!;

    /// <summary>The GOAWAYs that it got.</summary>
    public IReadOnlyList<(GoAwayPhase Phase, SessionEndReason Reason)> Goodbyes => _goodbyes;

    /// <summary>Streams that reached it.</summary>
    public List<TunnelStream> Streams { get; } = [];

    /// <summary>Sends bytes.</summary>
    public async Task SendAsync(byte[] bytes) => await own.SendAsync(bytes);

    /// <summary>Reads the answer to its first frame.</summary>
    public async Task<(FrameType Type, ReadOnlyMemory<byte> Payload)> ReadAnswerAsync()
    {
        var reading = HandshakeFrameReader.ReadAsync(
            own, static _ => true, ProtocolLimits.HandshakeTimeout, TimeProvider.System, TestContext.Current.CancellationToken);
        await engine.UntilAsync(() => reading.IsCompleted, "the acceptor answers");
        var answer = await reading;
        Assert.Equal(HandshakeReadStatus.Frame, answer.Status);
        _rest = answer.Rest;
        return (answer.Type, answer.Payload);
    }

    /// <summary>Reads a refusal, and hangs up.</summary>
    public async Task<RejectMessage> RejectedAsync()
    {
        var (type, payload) = await ReadAnswerAsync();
        Assert.Equal(FrameType.Reject, type);
        Assert.Equal(ProtocolError.None, RejectMessage.TryRead(payload.Span, out var reject));
        await HangUpAsync();
        return reject!;
    }

    /// <summary>Reads a welcome and continues as an uplink.</summary>
    public async Task<WelcomeMessage> WelcomedAsync()
    {
        var (type, payload) = await ReadAnswerAsync();
        Assert.Equal(FrameType.Welcome, type);
        Assert.Equal(ProtocolError.None, WelcomeMessage.TryRead(payload.Span, out var welcome));
        Welcome = welcome!;
        Uplink = new UplinkConnection(
            own, new PairOptions().Make(engine, UplinkRole.Agent, new Multiplexing.Buffers.BufferPool()), Streams.Add,
            (_, phase) => _goodbyes.Add((phase, Uplink.PeerGoAwayReason)));
        Run = Uplink.RunAsync(_rest);
        return Welcome;
    }

    /// <summary>Nothing more is said, and the acceptor finds out.</summary>
    public async Task HangUpAsync()
    {
        if (!serving.IsCompleted)
        {
            if (own.Shutdowns == 0)
            {
                own.ShutdownSend();
            }

            await DoneAsync();
        }
    }

    /// <summary>The connection is lost.</summary>
    public async Task LoseAsync()
    {
        own.Abort();
        await DoneAsync();
    }

    /// <summary>Waits until the acceptor is done with the connection, which it has closed then.</summary>
    public async Task DoneAsync()
    {
        await engine.UntilAsync(() => serving.IsCompleted, "the acceptor is done with the connection");
        await serving;
        Assert.True(acceptors.IsDisposed);
    }
}
