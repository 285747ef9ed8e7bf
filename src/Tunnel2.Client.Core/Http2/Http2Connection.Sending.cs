using Tunnel2.Http2.Frames;

namespace Tunnel2.Client.Core.Http2;

/// <content>The sending half: what is queued, in one buffer, and the loop that sends it.</content>
internal sealed partial class Http2Connection
{
    /// <summary>Body bytes wait while as much is queued.</summary>
    private const int QueuedData = 128 * 1024;

    /// <summary>New requests go to another connection while as much is queued.</summary>
    private const int QueuedHeads = 256 * 1024;

    /// <summary>A service that does not read, and causes more bytes of answers than this, is left.</summary>
    private const int AnswersMost = 1024 * 1024;

    private const int FirstOutput = 4 * 1024;

    private readonly List<Http2Stream> _blocked = [];
    private readonly List<Http2Stream> _unblocked = [];
    private byte[]? _output;
    private int _queued;
    private int _answers;
    private bool _isFlushing;
    private TaskCompletionSource? _flushed;

    /// <summary>See <see cref="Http2Stream.WriteAsync"/>.</summary>
    public ValueTask<bool> WriteAsync(Http2Stream stream, ReadOnlyMemory<byte> data, bool end)
    {
        ValueTask wait;
        lock (_gate)
        {
            if (TryWriteUnsynchronized(stream, ref data, end, out var canSend))
            {
                return new ValueTask<bool>(canSend);
            }

            wait = stream.Writable.Wait();
        }

        return WriteLaterAsync(stream, data, end, wait);
    }

    /// <summary>See <see cref="Http2Stream.TrySendTrailers"/>.</summary>
    public bool TrySendTrailers(Http2Stream stream, ReadOnlySpan<byte> block)
    {
        lock (_gate)
        {
            if (!stream.CanSend || _isEnded)
            {
                return false;
            }

            stream.LocalEnded = true;
            AppendBlockUnsynchronized(stream.Id, block, ends: true);
            return true;
        }
    }

    private async ValueTask<bool> WriteLaterAsync(Http2Stream stream, ReadOnlyMemory<byte> data, bool end, ValueTask wait)
    {
        while (true)
        {
            await wait.ConfigureAwait(false);
            lock (_gate)
            {
                if (TryWriteUnsynchronized(stream, ref data, end, out var canSend))
                {
                    return canSend;
                }

                wait = stream.Writable.Wait();
            }
        }
    }

    /// <summary>Queues what the windows and the queue have room for.</summary>
    /// <returns>False when the rest has to wait; who wakes the stream is known then.</returns>
    private bool TryWriteUnsynchronized(Http2Stream stream, ref ReadOnlyMemory<byte> data, bool end, out bool canSend)
    {
        canSend = stream.CanSend && !_isEnded;
        if (!canSend)
        {
            return true;
        }

        while (!data.IsEmpty && stream.SendWindow > 0 && _sendWindow > 0 && _queued < QueuedData)
        {
            var count = (int)Math.Min(
                Math.Min(data.Length, Math.Min(_peer.MaxFrameSize, Http2Frames.DefaultMaxFrameSize)),
                Math.Min(stream.SendWindow, _sendWindow));
            AppendDataUnsynchronized(stream, data.Span[..count], end && count == data.Length);
            data = data[count..];
        }

        if (!data.IsEmpty)
        {
            if ((_sendWindow <= 0 || _queued >= QueuedData) && !stream.IsBlocked)
            {
                stream.IsBlocked = true;
                _blocked.Add(stream);
            }

            return false;
        }

        if (end && !stream.LocalEnded)
        {
            AppendDataUnsynchronized(stream, default, ends: true);
        }

        return true;
    }

    private void AppendDataUnsynchronized(Http2Stream stream, ReadOnlySpan<byte> data, bool ends)
    {
        var frame = ReserveUnsynchronized(Http2FrameHeader.Size + data.Length);
        new Http2FrameHeader(data.Length, Http2FrameType.Data, ends ? Http2FrameFlags.EndStream : Http2FrameFlags.None, stream.Id)
            .Write(frame);
        data.CopyTo(frame[Http2FrameHeader.Size..]);
        stream.SendWindow -= data.Length;
        _sendWindow -= data.Length;
        stream.LocalEnded |= ends;
        _flood.OnOwnData(data.Length);
    }

    /// <summary>Queues a header block, in as many frames as the service's limit of a frame asks for.</summary>
    private void AppendBlockUnsynchronized(int id, ReadOnlySpan<byte> block, bool ends)
    {
        var type = Http2FrameType.Headers;
        var flags = ends ? Http2FrameFlags.EndStream : Http2FrameFlags.None;
        do
        {
            var length = Math.Min(block.Length, Http2Frames.DefaultMaxFrameSize);
            var last = length == block.Length ? Http2FrameFlags.EndHeaders : Http2FrameFlags.None;
            var frame = ReserveUnsynchronized(Http2FrameHeader.Size + length);
            new Http2FrameHeader(length, type, flags | last, id).Write(frame);
            block[..length].CopyTo(frame[Http2FrameHeader.Size..]);
            block = block[length..];
            type = Http2FrameType.Continuation;
            flags = Http2FrameFlags.None;
        }
        while (!block.IsEmpty);
        _flood.OnOwnFrame();
    }

    private void AppendResetUnsynchronized(Http2Stream stream, Http2ErrorCode code)
    {
        RememberResetUnsynchronized(stream);
        Http2Frames.WriteRstStream(ReserveUnsynchronized(Http2Frames.ShortLength), stream.Id, code);
    }

    /// <summary>Room for a frame at the end of the queue, which will be sent.</summary>
    private Span<byte> ReserveUnsynchronized(int length)
    {
        if (_output is null || _output.Length - _queued < length)
        {
            var larger = _buffers.Rent(Math.Max(FirstOutput, Math.Max(2 * _queued, _queued + length)));
            if (_output is not null)
            {
                _output.AsSpan(0, _queued).CopyTo(larger);
                _buffers.Return(_output);
            }

            _output = larger;
        }

        var room = _output.AsSpan(_queued, length);
        _queued += length;
        if (!_isFlushing)
        {
            // Later on the same thread: what other streams queue until then leaves in the same send.
            _isFlushing = true;
            if (_home is not null)
            {
                _home.Schedule(static self => _ = ((Http2Connection)self!).FlushAsync(), this);
            }
            else
            {
                ThreadPool.UnsafeQueueUserWorkItem(static self => _ = self.FlushAsync(), this, preferLocal: false);
            }
        }

        return room;
    }

    private async Task FlushAsync()
    {
        while (true)
        {
            byte[] sending;
            int length;
            TaskCompletionSource? flushed = null;
            lock (_gate)
            {
                if (_queued == 0)
                {
                    _isFlushing = false;
                    flushed = _flushed;
                }

                sending = _output ?? [];
                length = _queued;
                _output = null;
                _queued = 0;
                _answers = 0;
            }

            if (length == 0)
            {
                flushed?.TrySetResult();
                return;
            }

            try
            {
                await _transport.SendAsync(sending.AsMemory(0, length)).ConfigureAwait(false);
            }
            catch (IOException)
            {
                // The reader meets it too: it ends the connection, and with it what waits here.
                _transport.Abort();
            }
            catch (Exception exception)
            {
                _faults.Add("flush to an HTTP/2 service", exception);
                _transport.Abort();
            }

            _buffers.Return(sending);
            lock (_gate)
            {
                TakeBlockedUnsynchronized(_unblocked);
            }

            CompleteWrites(_unblocked);
        }
    }

    /// <summary>Takes the waits of those who wait for the connection's window or for room in the queue.</summary>
    private void TakeBlockedUnsynchronized(List<Http2Stream> woken)
    {
        foreach (var stream in _blocked)
        {
            stream.IsBlocked = false;
            if (stream.Writable.TryTake())
            {
                woken.Add(stream);
            }
        }

        _blocked.Clear();
    }

    private static void CompleteWrites(List<Http2Stream> woken)
    {
        foreach (var stream in woken)
        {
            stream.Writable.Complete();
        }

        woken.Clear();
    }
}
