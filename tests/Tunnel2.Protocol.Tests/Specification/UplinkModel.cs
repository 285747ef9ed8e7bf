using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.FlowControl;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Protocol.Tests.Specification;

/// <summary>
/// One side of an uplink as docs/protocol.md describes it, written as plainly as that page and only for judging its examples: it keeps the
/// state that the rules need, consumes nothing and sends nothing by itself.
/// </summary>
internal sealed class UplinkModel
{
    private readonly bool _isEntry;
    private readonly int _streamWindow;
    private readonly StreamModel[] _slots;
    private ReceiveWindow _window;
    private SendCredit _credit;

    public UplinkModel(bool isEntry, int streams, int streamWindow, int uplinkWindow)
    {
        _isEntry = isEntry;
        _streamWindow = streamWindow;
        _slots = [.. Enumerable.Range(0, streams).Select(_ => new StreamModel())];
        _window = new ReceiveWindow(uplinkWindow);
        _credit = new SendCredit(uplinkWindow);
    }

    public bool IsInHandshake { get; init; }

    public int Dropped { get; private set; }

    public bool AllStreamsAreOver => _slots.All(slot => slot.Generation == 0 || slot.IsOver);

    public bool OwesReset => _slots.Any(slot => slot.Generation != 0 && slot.Received == StreamEnd.Rst && slot.Sent == StreamEnd.None);

    /// <summary>Notes what this side sends; the other side's model judges it.</summary>
    public void Send(ReadOnlySpan<byte> frame)
    {
        Assert.Equal(ProtocolError.None, FrameHeader.TryRead(frame, out var header));
        if (header.Type is not (FrameType.Headers or FrameType.Data or FrameType.Rst))
        {
            return;
        }

        var slot = _slots[header.Stream.Slot];
        if (_isEntry && header.Type == FrameType.Headers && header.Stream.Generation != slot.Generation)
        {
            Assert.True(slot.Generation == 0 || slot.IsOver, "ProxyEntry opens only in a free slot.");
            Assert.Equal(StreamId.NextGeneration(slot.Generation), header.Stream.Generation);
            slot.Open(header.Stream.Generation, _streamWindow);
        }

        Assert.False(OwesReset && header.Type != FrameType.Rst, "Who received RST and ended nothing answers with RST.");
        Assert.False(slot.Sent == StreamEnd.Rst, "Nothing is sent behind RST.");
        slot.Sent = header.Type == FrameType.Rst ? StreamEnd.Rst : header.EndsDirection ? StreamEnd.End : slot.Sent;
    }

    /// <summary>Judges what arrives.</summary>
    public ProtocolError Receive(ReadOnlySpan<byte> frame)
    {
        var error = FrameHeader.TryRead(frame, out var header);
        if (error != ProtocolError.None)
        {
            return error;
        }

        Assert.Equal(frame.Length, FrameHeader.Size + header.Length);
        var payload = frame[FrameHeader.Size..];
        if (IsInHandshake)
        {
            return ReceiveFirst(header.Type, payload);
        }

        return header.Type switch
        {
            FrameType.Hello or FrameType.Welcome or FrameType.Reject or FrameType.Join => ProtocolError.UnexpectedHandshake,
            FrameType.GoAway => ControlFrames.TryReadGoAway(payload, out _, out _, out _),
            FrameType.Nodes when !_isEntry => NodeAnnouncement.TryReadFrame(payload, out _, out _),
            FrameType.Window => ReceiveWindowFrame(header.Stream, payload),
            FrameType.Headers or FrameType.Data or FrameType.Rst => ReceiveStreamFrame(header, payload),
            _ => ProtocolError.None,
        };
    }

    private ProtocolError ReceiveFirst(FrameType type, ReadOnlySpan<byte> payload) => (type, _isEntry) switch
    {
        (FrameType.Hello, true) => HelloMessage.TryRead(payload, out _),
        (FrameType.Join, true) => JoinMessage.TryRead(payload, out _),
        (FrameType.Welcome, false) => WelcomeMessage.TryRead(payload, out _),
        (FrameType.Reject, false) => RejectMessage.TryRead(payload, out _),
        _ => ProtocolError.HandshakeExpected,
    };

    private ProtocolError ReceiveWindowFrame(StreamId stream, ReadOnlySpan<byte> payload)
    {
        var error = ControlFrames.TryReadWindow(payload, out var increment);
        if (error != ProtocolError.None)
        {
            return error;
        }

        if (stream.IsUplink)
        {
            return _credit.TryAdd(increment) ? ProtocolError.None : ProtocolError.CreditOverflow;
        }

        error = Find(stream, FrameType.Window, out var slot);
        if (error != ProtocolError.None)
        {
            return error;
        }

        return slot is null ? Drop(0) : slot.Credit.TryAdd(increment) ? ProtocolError.None : ProtocolError.CreditOverflow;
    }

    private ProtocolError ReceiveStreamFrame(FrameHeader header, ReadOnlySpan<byte> payload)
    {
        var error = ReadBody(header.Type, payload, out var block, out var body);
        if (error != ProtocolError.None)
        {
            return error;
        }

        error = Find(header.Stream, header.Type, out var slot, isRequest: block.Kind == HeaderBlockKind.Request);
        if (error != ProtocolError.None)
        {
            return error;
        }

        if (slot is not null && header.Type == FrameType.Rst)
        {
            slot.Received = StreamEnd.Rst;
            return ProtocolError.None;
        }

        if (slot is null || slot.Sent == StreamEnd.Rst)
        {
            if (slot is not null && header.EndsDirection)
            {
                slot.Received = StreamEnd.End;
            }

            return Drop(body.Length);
        }

        error = slot.Received == StreamEnd.End ? ProtocolError.FrameAfterEnd
            : header.Type == FrameType.Headers ? slot.ReceiveBlock(_isEntry, block, body.Length, header.EndsDirection)
            : slot.HeadReceived ? ProtocolError.None : ProtocolError.FrameAfterEnd;
        if (error != ProtocolError.None)
        {
            return error;
        }

        slot.Received = header.EndsDirection ? StreamEnd.End : slot.Received;
        return !slot.Window.TryReceive(body.Length) ? ProtocolError.StreamCreditOverrun
            : !_window.TryReceive(body.Length) ? ProtocolError.UplinkCreditOverrun
            : ProtocolError.None;
    }

    /// <summary>The table "Which stream is meant"; no error and no slot: the frame is dropped.</summary>
    private ProtocolError Find(StreamId stream, FrameType type, out StreamModel? slot, bool isRequest = false)
    {
        slot = null;
        if (isRequest && _isEntry)
        {
            return ProtocolError.StreamNotAllowed;
        }

        if (stream.Slot >= _slots.Length)
        {
            return type == FrameType.Headers ? ProtocolError.TooManyStreams : ProtocolError.UnknownStream;
        }

        var found = _slots[stream.Slot];
        if (found.Generation != 0 && stream.Generation == found.Generation)
        {
            slot = found.IsOver ? null : found;
            return isRequest && !found.IsOver ? ProtocolError.StreamNotAllowed : ProtocolError.None;
        }

        if (found.Generation != 0 && StreamId.IsEarlierGeneration(stream.Generation, found.Generation))
        {
            return ProtocolError.None;
        }

        if (!isRequest || stream.Generation != StreamId.NextGeneration(found.Generation))
        {
            return ProtocolError.UnknownStream;
        }

        if (found.Generation != 0 && !found.IsOver)
        {
            return ProtocolError.StreamNotAllowed;
        }

        found.Open(stream.Generation, _streamWindow);
        slot = found;
        return ProtocolError.None;
    }

    private static ProtocolError ReadBody(FrameType type, ReadOnlySpan<byte> payload, out HeaderBlock block, out ReadOnlySpan<byte> body)
    {
        block = default;
        body = type == FrameType.Data ? payload : [];
        if (type != FrameType.Headers)
        {
            return ProtocolError.None;
        }

        var error = HeaderBlock.TrySplit(payload, out var bytes, out body);
        return error != ProtocolError.None ? error : HeaderBlock.TryRead(bytes, out block);
    }

    private ProtocolError Drop(int bodyLength)
    {
        Dropped++;
        if (!_window.TryReceive(bodyLength))
        {
            return ProtocolError.UplinkCreditOverrun;
        }

        _window.Consume(bodyLength);
        return ProtocolError.None;
    }
}
