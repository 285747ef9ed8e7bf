using Tunnel2.Http2.Frames;

namespace Tunnel2.Client.Core.Http2;

/// <content>The receiving half: the reader, and what each frame does. All of it is bounded before it is kept.</content>
internal sealed partial class Http2Connection
{
    private const int ReceiveBuffer = 64 * 1024;

    /// <summary>Bytes that are taken of a service after the connection has ended.</summary>
    private const int DroppedMost = 1024 * 1024;

    /// <summary>
    /// Header blocks that come in several frames have at most as many bytes, and as many frames. It is more than a tunnel carries: a block
    /// that is too large for a tunnel is read, and ends its stream and not the connection.
    /// </summary>
    private const int MaxBlock = 2 * 1024 * 1024;
    private const int MaxBlockFrames = 256;

    /// <summary>The last streams that one side has reset: frames that still come for them are dropped.</summary>
    private const int RememberedStreams = 8192;

    private readonly List<Http2Stream> _readable = [];
    private readonly List<Http2Stream> _writable = [];
    private readonly ulong[] _wasReset = new ulong[RememberedStreams / 64];

    /// <summary>Bytes that streams had been granted when they were reset: so many may still come for them, in sum.</summary>
    private long _late;
    private byte[]? _block;
    private int _blockLength;
    private int _blockFrames;
    private int _blockStream;
    private bool _blockEnds;
    private bool _hasStarted;
    private bool _mayHaveChanged;

    private async Task ReceiveAsync()
    {
        byte[]? buffer = null;
        var filled = 0;
        var dropped = 0;
        try
        {
            while (dropped < DroppedMost)
            {
                if (filled == 0 && _transport.WaitsFreely)
                {
                    if (buffer is not null)
                    {
                        _buffers.Return(buffer);
                        buffer = null;
                    }

                    await _transport.ReceiveAsync(Memory<byte>.Empty).ConfigureAwait(false);
                }

                buffer ??= _buffers.Rent(ReceiveBuffer);
                var received = await _transport.ReceiveAsync(buffer.AsMemory(filled)).ConfigureAwait(false);
                if (received == 0)
                {
                    return;
                }

                filled += received;
                var consumed = Receive(buffer.AsSpan(0, filled), out var error);
                Wake();
                if (consumed < 0)
                {
                    // What still comes is taken for a moment: a close with unread bytes would be a reset, which overtakes the GOAWAY.
                    End(error, Http2FailureKind.ConnectionBroken);
                    dropped += filled;
                    filled = 0;
                    continue;
                }

                filled -= consumed;
                buffer.AsSpan(consumed, filled).CopyTo(buffer);
            }
        }
        finally
        {
            if (buffer is not null)
            {
                _buffers.Return(buffer);
            }
        }
    }

    /// <summary>Takes all whole frames.</summary>
    /// <returns>Bytes of them; negative: it does not speak HTTP/2, or the connection has ended.</returns>
    private int Receive(ReadOnlySpan<byte> bytes, out Http2ErrorCode error)
    {
        var consumed = 0;
        error = Http2ErrorCode.NoError;
        lock (_gate)
        {
            var queued = _queued;
            while (!_isEnded && bytes.Length - consumed >= Http2FrameHeader.Size)
            {
                var header = Http2FrameHeader.Read(bytes[consumed..]);
                if (!_hasStarted
                    && (header.Type != Http2FrameType.Settings || header.StreamId != 0 || header.Has(Http2FrameFlags.Ack)))
                {
                    // RFC 9113 section 3.4: SETTINGS come first. This is another protocol.
                    _started.TrySetResult(Http2Start.OtherProtocol);
                    error = Http2ErrorCode.ProtocolError;
                    return -1;
                }

                if (header.Length > Http2Frames.DefaultMaxFrameSize)
                {
                    error = Http2ErrorCode.FrameSizeError;
                    return -1;
                }

                var end = consumed + Http2FrameHeader.Size + header.Length;
                if (bytes.Length < end)
                {
                    break;
                }

                error = OnFrameUnsynchronized(header, bytes[(consumed + Http2FrameHeader.Size)..end]);
                if (error != Http2ErrorCode.NoError)
                {
                    return -1;
                }

                consumed = end;
            }

            // What its frames have caused. Requests that wait for it are not its doing.
            _answers += _queued - queued;
            if (_answers > AnswersMost)
            {
                error = Http2ErrorCode.EnhanceYourCalm;
            }

            return _isEnded || error != Http2ErrorCode.NoError ? -1 : consumed;
        }
    }

    /// <summary>Completes the waits that <see cref="Receive"/> took: once for all frames that came together.</summary>
    private void Wake()
    {
        foreach (var stream in _readable)
        {
            stream.Readable.Complete();
        }

        _readable.Clear();
        CompleteWrites(_writable);
        if (_mayHaveChanged)
        {
            _mayHaveChanged = false;
            AfterRelease();
        }
    }

    private Http2ErrorCode OnFrameUnsynchronized(Http2FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (_blockStream != 0 && (header.Type != Http2FrameType.Continuation || header.StreamId != _blockStream))
        {
            return Http2ErrorCode.ProtocolError;
        }

        switch (header.Type)
        {
            case Http2FrameType.Data:
                return OnDataUnsynchronized(header, payload);
            case Http2FrameType.Headers:
                return OnHeadersUnsynchronized(header, payload);
            case Http2FrameType.Continuation:
                return _blockStream == 0 ? Http2ErrorCode.ProtocolError
                    : !_flood.TryTake() ? Http2ErrorCode.EnhanceYourCalm
                    : GatherBlockUnsynchronized(header, payload);
            case Http2FrameType.RstStream:
                return OnResetUnsynchronized(header, payload);
            case Http2FrameType.Settings:
                return OnSettingsUnsynchronized(header, payload);
            case Http2FrameType.Ping:
                return OnPingUnsynchronized(header, payload);
            case Http2FrameType.GoAway:
                return OnGoAwayUnsynchronized(header, payload);
            case Http2FrameType.WindowUpdate:
                return OnWindowUpdateUnsynchronized(header, payload);
            case Http2FrameType.PushPromise:
                // It was switched off (RFC 9113 section 8.4).
                return Http2ErrorCode.ProtocolError;
            case Http2FrameType.Priority:
                return header.StreamId == 0 ? Http2ErrorCode.ProtocolError
                    : payload.Length != 5 ? Http2ErrorCode.FrameSizeError
                    : Tolerate();
            default:
                return Tolerate();
        }
    }

    /// <summary>A frame that carries nothing is ignored, as long as there are few.</summary>
    private Http2ErrorCode Tolerate(int cost = 1) => _flood.TryTake(cost) ? Http2ErrorCode.NoError : Http2ErrorCode.EnhanceYourCalm;

    private Http2ErrorCode OnDataUnsynchronized(Http2FrameHeader header, ReadOnlySpan<byte> payload)
    {
        var id = header.StreamId;
        if (IsIdleUnsynchronized(id))
        {
            return Http2ErrorCode.ProtocolError;
        }

        _receiveWindow -= header.Length;
        if (_receiveWindow < 0)
        {
            return Http2ErrorCode.FlowControlError;
        }

        if (_receiveWindow < ConnectionWindow / 2)
        {
            // The streams' windows bound what is held; this one only must never be in their way.
            var increment = (int)(ConnectionWindow - _receiveWindow);
            _receiveWindow += increment;
            Http2Frames.WriteWindowUpdate(ReserveUnsynchronized(Http2Frames.ShortLength), 0, increment);
        }

        if (!Http2Frames.TryUnpad(header, ref payload))
        {
            return Http2ErrorCode.ProtocolError;
        }

        var ends = header.Has(Http2FrameFlags.EndStream);
        if (payload.IsEmpty && !ends && !_flood.TryTake())
        {
            return Http2ErrorCode.EnhanceYourCalm;
        }

        if (!_streams.TryGetValue(id, out var stream) || stream.RemoteEnded)
        {
            return stream is null && WasResetUnsynchronized(id) ? DropUnsynchronized(header.Length) : Http2ErrorCode.StreamClosed;
        }

        if (!stream.CanReceive)
        {
            return DropUnsynchronized(header.Length);
        }

        stream.ReceiveWindow -= header.Length;
        if (stream.ReceiveWindow < 0)
        {
            return Http2ErrorCode.FlowControlError;
        }

        if (!stream.HasFinalHead || (stream.BodyLeft >= 0 && payload.Length > stream.BodyLeft))
        {
            ResetUnsynchronized(stream, Http2ErrorCode.ProtocolError, Http2FailureKind.Malformed);
            return Http2ErrorCode.NoError;
        }

        if (stream.BodyLeft >= 0)
        {
            stream.BodyLeft -= payload.Length;
        }

        stream.Inbox.AppendData(payload);
        stream.Returnable += header.Length - payload.Length;
        if (ends)
        {
            EndUnsynchronized(stream);
        }

        if (ends || !payload.IsEmpty)
        {
            WakeReaderUnsynchronized(stream);
        }

        return Http2ErrorCode.NoError;
    }

    private Http2ErrorCode OnHeadersUnsynchronized(Http2FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (IsIdleUnsynchronized(header.StreamId) || !Http2Frames.TryUnpad(header, ref payload))
        {
            return Http2ErrorCode.ProtocolError;
        }

        _blockEnds = header.Has(Http2FrameFlags.EndStream);
        if (header.Has(Http2FrameFlags.EndHeaders))
        {
            return OnBlockUnsynchronized(header.StreamId, payload);
        }

        _blockStream = header.StreamId;
        _blockLength = 0;
        _blockFrames = 0;
        return GatherBlockUnsynchronized(header, payload);
    }

    private Http2ErrorCode GatherBlockUnsynchronized(Http2FrameHeader header, ReadOnlySpan<byte> fragment)
    {
        if (++_blockFrames > MaxBlockFrames || _blockLength + fragment.Length > MaxBlock)
        {
            return Http2ErrorCode.EnhanceYourCalm;
        }

        if (_block is null || _block.Length < _blockLength + fragment.Length)
        {
            var larger = _buffers.Rent(Math.Min(MaxBlock, 2 * (_blockLength + fragment.Length)));
            if (_block is not null)
            {
                _block.AsSpan(0, _blockLength).CopyTo(larger);
                _buffers.Return(_block);
            }

            _block = larger;
        }

        fragment.CopyTo(_block.AsSpan(_blockLength));
        _blockLength += fragment.Length;
        if (!header.Has(Http2FrameFlags.EndHeaders))
        {
            return Http2ErrorCode.NoError;
        }

        var id = _blockStream;
        _blockStream = 0;
        var error = OnBlockUnsynchronized(id, _block.AsSpan(0, _blockLength));
        ReturnBlockUnsynchronized();
        return error;
    }

    private void ReturnBlockUnsynchronized()
    {
        if (_block is not null)
        {
            _buffers.Return(_block);
            _block = null;
        }
    }

    /// <summary>The service has ended its direction in order.</summary>
    private void EndUnsynchronized(Http2Stream stream)
    {
        if (stream.BodyLeft > 0)
        {
            // RFC 9113 section 8.1.1: less than was declared is no complete answer.
            ResetUnsynchronized(stream, Http2ErrorCode.ProtocolError, Http2FailureKind.Malformed);
            return;
        }

        stream.RemoteEnded = true;
    }

    /// <summary>Ends a stream whose answer breaks a rule, and no other.</summary>
    private void ResetUnsynchronized(Http2Stream stream, Http2ErrorCode code, Http2FailureKind kind)
    {
        AppendResetUnsynchronized(stream, code);
        FailUnsynchronized(stream, kind, code);
    }

    private void FailUnsynchronized(Http2Stream stream, Http2FailureKind kind, Http2ErrorCode code)
    {
        FailUnsynchronized(stream, new Http2Failure(kind, code), out var reads, out var writes);
        if (reads)
        {
            _readable.Add(stream);
        }

        if (writes)
        {
            _writable.Add(stream);
        }
    }

    private void WakeReaderUnsynchronized(Http2Stream stream)
    {
        if (stream.Readable.TryTake())
        {
            _readable.Add(stream);
        }
    }

    private void WakeWriterUnsynchronized(Http2Stream stream)
    {
        if (stream.Writable.TryTake())
        {
            _writable.Add(stream);
        }
    }

    /// <summary>Whether a frame is for no stream that was ever opened. Only this side opens, with odd numbers.</summary>
    private bool IsIdleUnsynchronized(int id) => (id & 1) == 0 || id >= _nextId;

    private void RememberResetUnsynchronized(Http2Stream stream)
    {
        _wasReset[SlotOf(stream.Id, out var bit)] |= bit;
        _late += stream.RemoteEnded ? 0 : stream.ReceiveWindow;
    }

    /// <summary>DATA came for a stream after its reset, where it may have been under way.</summary>
    private Http2ErrorCode DropUnsynchronized(int length) =>
        (_late -= length) < 0 ? Http2ErrorCode.FlowControlError : Http2ErrorCode.NoError;

    private void ForgetResetUnsynchronized(int id) => _wasReset[SlotOf(id, out var bit)] &= ~bit;

    /// <summary>Of a stream that is long over nothing is known any more: frames for it are dropped.</summary>
    private bool WasResetUnsynchronized(int id) =>
        (_nextId - id) / 2 > RememberedStreams || (_wasReset[SlotOf(id, out var bit)] & bit) != 0;

    private static int SlotOf(int id, out ulong bit)
    {
        var number = (id >> 1) & (RememberedStreams - 1);
        bit = 1UL << (number & 63);
        return number >> 6;
    }
}
