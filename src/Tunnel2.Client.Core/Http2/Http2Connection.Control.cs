using System.Buffers.Binary;
using Tunnel2.Http2.Frames;

namespace Tunnel2.Client.Core.Http2;

/// <content>Frames that carry nothing of an exchange.</content>
internal sealed partial class Http2Connection
{
    private Http2ErrorCode OnResetUnsynchronized(Http2FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (payload.Length != 4)
        {
            return Http2ErrorCode.FrameSizeError;
        }

        if (IsIdleUnsynchronized(header.StreamId))
        {
            return Http2ErrorCode.ProtocolError;
        }

        if (!_streams.TryGetValue(header.StreamId, out var stream) || stream.IsReset)
        {
            return Tolerate();
        }

        // Some services send more of a stream after its reset. It is dropped: the other streams of the connection have no part in it.
        RememberResetUnsynchronized(stream);
        var code = (Http2ErrorCode)BinaryPrimitives.ReadUInt32BigEndian(payload);

        // The service's own word that it has not begun (RFC 9113 section 8.7), also after an interim response: a proxy may send it.
        var isUntouched = code == Http2ErrorCode.RefusedStream && !stream.HasFinalHead;
        FailUnsynchronized(stream, isUntouched ? Http2FailureKind.Refused : Http2FailureKind.Reset, code);
        return Http2ErrorCode.NoError;
    }

    private Http2ErrorCode OnSettingsUnsynchronized(Http2FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (header.StreamId != 0)
        {
            return Http2ErrorCode.ProtocolError;
        }

        if (header.Has(Http2FrameFlags.Ack))
        {
            return payload.IsEmpty ? Tolerate() : Http2ErrorCode.FrameSizeError;
        }

        if (!_flood.TryTake(1 + (payload.Length / 64)))
        {
            return Http2ErrorCode.EnhanceYourCalm;
        }

        var before = _peer.InitialWindowSize;
        if (_peer.Apply(payload) is var error and not Http2ErrorCode.NoError)
        {
            return error;
        }

        var change = _peer.InitialWindowSize - (long)before;
        foreach (var stream in _streams.Values)
        {
            // RFC 9113 section 6.9.2: a window may become negative, and must not become too large.
            stream.SendWindow += change;
            if (stream.SendWindow > int.MaxValue)
            {
                return Http2ErrorCode.FlowControlError;
            }

            WakeWriterUnsynchronized(stream);
        }

        _mayHaveChanged = true;
        Http2Frames.WriteSettingsAck(ReserveUnsynchronized(Http2FrameHeader.Size));
        if (_peer.MaxConcurrentStreams > 0)
        {
            _allows.TrySetResult();
        }

        if (!_hasStarted)
        {
            _hasStarted = true;
            _started.TrySetResult(Http2Start.Ready);
        }

        return Http2ErrorCode.NoError;
    }

    private Http2ErrorCode OnPingUnsynchronized(Http2FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (header.StreamId != 0)
        {
            return Http2ErrorCode.ProtocolError;
        }

        if (payload.Length != 8)
        {
            return Http2ErrorCode.FrameSizeError;
        }

        if (!_flood.TryTake())
        {
            return Http2ErrorCode.EnhanceYourCalm;
        }

        if (!header.Has(Http2FrameFlags.Ack))
        {
            Http2Frames.WritePingAck(ReserveUnsynchronized(Http2Frames.LongLength), payload);
        }

        return Http2ErrorCode.NoError;
    }

    private Http2ErrorCode OnGoAwayUnsynchronized(Http2FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (header.StreamId != 0)
        {
            return Http2ErrorCode.ProtocolError;
        }

        if (payload.Length < 8)
        {
            return Http2ErrorCode.FrameSizeError;
        }

        if (!_flood.TryTake())
        {
            return Http2ErrorCode.EnhanceYourCalm;
        }

        var last = BinaryPrimitives.ReadInt32BigEndian(payload) & int.MaxValue;
        _isRetired = true;
        _leftAfterRequests |= last > 0;
        EndedAfter = last > 0 && last < _nextId - 2 ? (last + 1) / 2 : EndedAfter;
        _mayHaveChanged = true;
        foreach (var (id, stream) in _streams)
        {
            if (id > last && !stream.IsReset)
            {
                // An answer that has begun shows that the service did something with the request, also if it says otherwise now.
                var isUntouched = !stream.HasFinalHead && stream.Interim == 0;
                RememberResetUnsynchronized(stream);
                FailUnsynchronized(
                    stream, isUntouched ? Http2FailureKind.Refused : Http2FailureKind.ConnectionLost, Http2ErrorCode.RefusedStream);
            }
        }

        return Http2ErrorCode.NoError;
    }

    private Http2ErrorCode OnWindowUpdateUnsynchronized(Http2FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (payload.Length != 4)
        {
            return Http2ErrorCode.FrameSizeError;
        }

        var increment = BinaryPrimitives.ReadInt32BigEndian(payload) & int.MaxValue;
        if (!_flood.TryTakeGrant(increment))
        {
            return Http2ErrorCode.EnhanceYourCalm;
        }

        if (header.StreamId == 0)
        {
            _sendWindow += increment;
            if (increment == 0 || _sendWindow > int.MaxValue)
            {
                return increment == 0 ? Http2ErrorCode.ProtocolError : Http2ErrorCode.FlowControlError;
            }

            TakeBlockedUnsynchronized(_writable);
            return Http2ErrorCode.NoError;
        }

        if (IsIdleUnsynchronized(header.StreamId))
        {
            return Http2ErrorCode.ProtocolError;
        }

        if (!_streams.TryGetValue(header.StreamId, out var stream) || stream.IsReset)
        {
            return Http2ErrorCode.NoError;
        }

        stream.SendWindow += increment;
        if (increment == 0 || stream.SendWindow > int.MaxValue)
        {
            ResetUnsynchronized(
                stream,
                increment == 0 ? Http2ErrorCode.ProtocolError : Http2ErrorCode.FlowControlError,
                Http2FailureKind.Malformed);
            return Http2ErrorCode.NoError;
        }

        WakeWriterUnsynchronized(stream);
        return Http2ErrorCode.NoError;
    }
}
