using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Tests.InMemory;

/// <summary>A frame that the raw peer received.</summary>
internal sealed record RawFrame(FrameHeader Header, byte[] Payload)
{
    public (GoAwayPhase Phase, SessionEndReason Reason, string Text) GoAway
    {
        get
        {
            Assert.Equal(FrameType.GoAway, Header.Type);
            Assert.Equal(ProtocolError.None, ControlFrames.TryReadGoAway(Payload, out var phase, out var reason, out var text));
            return (phase, reason, text);
        }
    }
}

/// <summary>One end of an uplink under test, and a peer at its other end that says what the test wants.</summary>
internal sealed class RawPeer
{
    private readonly List<byte> _buffer = [];
    private readonly TestEngine _engine;

    public RawPeer(
        TestEngine engine, UplinkRole role, PairOptions? options = null, Action<TunnelStream>? onStream = null,
        Action<UplinkConnection, GoAwayPhase>? onGoAway = null)
    {
        _engine = engine;
        options ??= new PairOptions();
        (UplinkTransport, Transport) = InMemoryTransport.CreatePair(options.Capacity, engine.Scheduler);
        Uplink = new UplinkConnection(UplinkTransport, options.Make(engine, role, Buffers), onStream, onGoAway);
        if (options.RoundTrip > 0)
        {
            Uplink.LearnRoundTrip(options.RoundTrip);
        }

        Run = Uplink.RunAsync();
    }

    public BufferPool Buffers { get; } = new();

    public UplinkConnection Uplink { get; }

    public InMemoryTransport UplinkTransport { get; }

    /// <summary>The raw peer's own end.</summary>
    public InMemoryTransport Transport { get; }

    public Task<UplinkEnd> Run { get; }

    public async Task SendAsync(params byte[][] frames) => await Transport.SendAsync(Frame.Join(frames));

    /// <summary>Reads a frame and judges its header.</summary>
    /// <returns>Null when the uplink closed or broke the connection.</returns>
    public async Task<RawFrame?> ReadAsync()
    {
        if (!await FillAsync(FrameHeader.Size))
        {
            return null;
        }

        Assert.Equal(ProtocolError.None, FrameHeader.TryRead(_buffer.Take(FrameHeader.Size).ToArray(), out var header));
        if (!await FillAsync(FrameHeader.Size + header.Length))
        {
            Assert.Fail("The connection ended in the middle of a frame.");
        }

        var payload = _buffer.Skip(FrameHeader.Size).Take(header.Length).ToArray();
        _buffer.RemoveRange(0, FrameHeader.Size + header.Length);
        return new RawFrame(header, payload);
    }

    /// <summary>Reads until a frame of a type has come.</summary>
    public async Task<RawFrame> ReadUntilAsync(FrameType type)
    {
        while (await ReadAsync() is { } frame)
        {
            if (frame.Header.Type == type)
            {
                return frame;
            }
        }

        throw new InvalidOperationException($"The connection ended before {type}.");
    }

    /// <summary>Asks for a sign of life, so that everything sent before was handled when this returns.</summary>
    public async Task<List<RawFrame>> SyncAsync(ulong opaque = 0xABCDEF)
    {
        await SendAsync(Frame.Ping(opaque));
        var before = new List<RawFrame>();
        while (await ReadAsync() is { } frame)
        {
            if (frame.Header.Type == FrameType.Ping && ControlFrames.ReadPing(frame.Payload) == opaque)
            {
                return before;
            }

            before.Add(frame);
        }

        throw new InvalidOperationException($"The uplink ended: {Uplink.End}.");
    }

    /// <summary>Closes and waits for the end of the uplink; every buffer must be back.</summary>
    public async Task<UplinkEnd> CloseAsync()
    {
        if (Transport.Shutdowns == 0)
        {
            Transport.ShutdownSend();
        }

        // For anything that it still says. The end of one side may come in the middle of the other's frame.
        do
        {
            _buffer.Clear();
        }
        while (await FillAsync(1));

        var end = await Run;

        // On the pool, what takes the streams may run after the uplink's end.
        await _engine.UntilAsync(() => Buffers.Outstanding == 0, "every buffer is back");
        Assert.True(UplinkTransport.IsDisposed);
        return end;
    }

    private async Task<bool> FillAsync(int count)
    {
        var chunk = new byte[16 * 1024];
        while (_buffer.Count < count)
        {
            int received;
            try
            {
                received = await Transport.ReceiveAsync(chunk);
            }
            catch (IOException)
            {
                return false;
            }

            if (received == 0)
            {
                return false;
            }

            _buffer.AddRange(chunk.AsSpan(0, received));
        }

        return true;
    }
}
