using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Multiplexing.Uplinks;

/// <content>What each frame does.</content>
internal sealed partial class UplinkReader
{
    /// <summary>A frame that carries nothing: legal, but only so many of them.</summary>
    private ProtocolError OnEmpty() => _empty.TryTake(_time) ? ProtocolError.None : ProtocolError.EmptyFrameFlood;

    private ProtocolError Dispatch(FrameHeader header, ReadOnlySpan<byte> payload)
    {
        switch (header.Type)
        {
            case FrameType.Data:
                return OnData(header, payload);
            case FrameType.Headers:
                return OnHeaders(header, payload);
            case FrameType.Window:
                return OnWindow(header, payload);
            case FrameType.Rst:
                return OnRst(header, payload);
            case FrameType.Ping:
                return OnPing(header, payload);
            case FrameType.Service:
                _uplink.OnService(ControlFrames.ReadService(payload, out var counter), counter);
                return OnEmpty();
            case FrameType.Nodes:
                return OnNodes(payload);
            case FrameType.GoAway:
                var error = ControlFrames.TryReadGoAway(payload, out var phase, out var reason, out var text);
                if (error != ProtocolError.None)
                {
                    return error;
                }

                _uplink.OnGoAway(phase, reason, text);
                return OnEmpty();
            default:
                return ProtocolError.UnexpectedHandshake;
        }
    }

    /// <summary>To ProxyEntry no list means anything: there it is a frame that carries nothing.</summary>
    private ProtocolError OnNodes(ReadOnlySpan<byte> payload)
    {
        if (_uplink.Settings.Role == UplinkRole.Entry)
        {
            return OnEmpty();
        }

        if (!_lists.TryTake(_time))
        {
            return ProtocolError.EmptyFrameFlood;
        }

        var error = NodeAnnouncement.TryReadFrame(payload, out var counter, out var announcement);
        if (error == ProtocolError.None)
        {
            _uplink.NodesObserver?.Invoke(counter, announcement!);
        }

        return error;
    }

    /// <summary>Takes body bytes out of the uplink's credit. A frame without any takes no lock.</summary>
    private bool TryReceive(int count) => count == 0 || _streams.ReceiveCredit.TryReceive(count);

    private ProtocolError OnData(FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (!TryReceive(payload.Length))
        {
            return ProtocolError.UplinkCreditOverrun;
        }

        var lookup = _streams.Table.Find(header.Stream, out var stream);
        if (lookup == StreamLookup.Over)
        {
            _streams.ReceiveCredit.Return(payload.Length);
            return payload.IsEmpty ? OnEmpty() : ProtocolError.None;
        }

        if (lookup != StreamLookup.Open)
        {
            return ProtocolError.UnknownStream;
        }

        if (payload.IsEmpty && !header.EndsDirection && OnEmpty() is not ProtocolError.None and var flood)
        {
            return flood;
        }

        // Step 8: the stream keeps a copy; its reader continues in WakeReaders, once for all frames of a receive.
        var error = stream!.OnData(payload, header.EndsDirection, out var wake);
        if (wake)
        {
            _woken.Add(stream);
        }

        return error;
    }

    private ProtocolError OnHeaders(FrameHeader header, ReadOnlySpan<byte> payload)
    {
        var error = HeaderBlock.TrySplit(payload, out var blockBytes, out var body);
        if (error != ProtocolError.None)
        {
            return error;
        }

        error = _uplink.Settings.IsNodeLink
            ? NodeRequest.TryReadBlock(blockBytes, out var block)
            : HeaderBlock.TryRead(blockBytes, out block);
        if (error != ProtocolError.None)
        {
            return error;
        }

        if (!TryReceive(body.Length))
        {
            return ProtocolError.UplinkCreditOverrun;
        }

        var isRequest = block.Kind == HeaderBlockKind.Request;
        if (isRequest && _uplink.Settings.Role == UplinkRole.Entry)
        {
            return ProtocolError.StreamNotAllowed;
        }

        switch (_streams.Table.Find(header.Stream, out var stream))
        {
            case StreamLookup.Open:
                return isRequest ? ProtocolError.StreamNotAllowed
                    : _uplink.Settings.Role == UplinkRole.Agent && block.Kind == HeaderBlockKind.Response
                    ? ProtocolError.UnexpectedHeaderBlock
                    : stream!.OnHeaders(blockBytes, block, body, header.EndsDirection);
            case StreamLookup.Over:
                _streams.ReceiveCredit.Return(body.Length);
                return OnEmpty();
            case StreamLookup.NotFree when isRequest:
                return ProtocolError.StreamNotAllowed;
            case StreamLookup.Next when isRequest:
                // Step 5: the agent has a new request.
                return _uplink.Accept(header.Stream, blockBytes, block, body, header.EndsDirection);
            case StreamLookup.OutOfRange:
                return ProtocolError.TooManyStreams;
            default:
                return ProtocolError.UnknownStream;
        }
    }

    private ProtocolError OnWindow(FrameHeader header, ReadOnlySpan<byte> payload)
    {
        var error = ControlFrames.TryReadWindow(payload, out var increment);
        if (error != ProtocolError.None)
        {
            return error;
        }

        if (increment < EmptyFrameBudget.LeastIncrement && OnEmpty() is not ProtocolError.None and var flood)
        {
            return flood;
        }

        if (header.Stream.IsUplink)
        {
            return _streams.Sending.TryAddCredit(increment) ? ProtocolError.None : ProtocolError.CreditOverflow;
        }

        return _streams.Table.Find(header.Stream, out var stream) switch
        {
            StreamLookup.Open => stream!.OnWindow(header.Stream, increment),
            StreamLookup.Over => OnEmpty(),
            _ => ProtocolError.UnknownStream,
        };
    }

    private ProtocolError OnRst(FrameHeader header, ReadOnlySpan<byte> payload)
    {
        var reason = ControlFrames.ReadRst(payload, out var detail);
        switch (_streams.Table.Find(header.Stream, out var stream))
        {
            case StreamLookup.Open:
                stream!.OnRst(header.Stream, reason, detail);
                return ProtocolError.None;
            case StreamLookup.Over:
                return OnEmpty();
            default:
                return ProtocolError.UnknownStream;
        }
    }

    private ProtocolError OnPing(FrameHeader header, ReadOnlySpan<byte> payload)
    {
        var opaque = ControlFrames.ReadPing(payload);
        if ((header.Flags & FrameFlags.Ack) == 0)
        {
            if (!_streams.Sending.Control.TryAddAnswer(opaque))
            {
                _uplink.TryEnd(new UplinkEnd(SessionEndReason.ControlQueueOverflow));
            }
        }
        else
        {
            _streams.RoundTrip.OnAnswer(opaque, _time.GetTimestamp());
            _uplink.LearnPath();
        }

        return OnEmpty();
    }
}
