using System.Buffers;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Tunnel2.Http2.Frames;
using Tunnel2.Http2.Hpack;

namespace Tunnel2.ProxyEntry.Fronts.Http2;

/// <summary>
/// Kestrel's bytes on their way to the visitor, with frames of ours between Kestrel's. Kestrel writes as one producer; frames of ours come
/// from any thread. They are written at once where nothing is under way, else they wait for the end of Kestrel's frame or flush, which
/// sends them. While a flush of ours runs, Kestrel's bytes gather beside it, because the transport takes one flush at a time.
/// </summary>
internal sealed class Http2LinkOutput(Http2Link link, PipeWriter inner) : PipeWriter
{
    /// <summary>Bytes of ours that wait at most; interim responses that find no room are dropped.</summary>
    private const int MostPending = 128 * 1024;

    private readonly Http2FrameScanner _frames = new(preface: 0);
    private ArrayBufferWriter<byte>? _pending;
    private ArrayBufferWriter<byte>? _held;
    private Memory<byte> _given;
    private TaskCompletionSource? _ownFlush;
    private Place _place;
    private bool _inBlock;
    private bool _hasSettings;
    private bool _isFlushing;
    private bool _endsAfterPending;
    private bool _isOver;

    /// <summary>Where the memory lies that Kestrel has asked for and not yet advanced over.</summary>
    private enum Place
    {
        /// <summary>It has none.</summary>
        None,

        /// <summary>In the transport.</summary>
        Transport,

        /// <summary>Beside it, because a flush of ours runs.</summary>
        Held,

        /// <summary>Nowhere: the connection has ended.</summary>
        Waste,
    }

    /// <inheritdoc/>
    public override bool CanGetUnflushedBytes => inner.CanGetUnflushedBytes;

    /// <inheritdoc/>
    public override long UnflushedBytes => inner.UnflushedBytes;

    /// <summary>Sends a header block of ours; in more than one frame where it needs them.</summary>
    /// <returns>False when it is dropped.</returns>
    public bool TrySendBlock(int streamId, ReadOnlySpan<byte> block)
    {
        lock (link.Gate)
        {
            if (_isOver || _endsAfterPending || !link.IsOpenUnsynchronized(streamId)
                || (_pending?.WrittenCount ?? 0) + block.Length > MostPending)
            {
                return false;
            }

            AppendBlockUnsynchronized(streamId, block);
            if (!TryBeginOwnFlushUnsynchronized())
            {
                return true;
            }
        }

        FlushOwn();
        return true;
    }

    /// <summary>Sends GOAWAY, and nothing after it; Kestrel's reader learns that the visitor is gone.</summary>
    public void End(Http2ErrorCode code)
    {
        bool flushes;
        lock (link.Gate)
        {
            AppendGoAwayUnsynchronized(code);
            flushes = TryBeginOwnFlushUnsynchronized();
        }

        if (flushes)
        {
            FlushOwn();
        }
    }

    /// <inheritdoc/>
    public override Memory<byte> GetMemory(int sizeHint = 0)
    {
        lock (link.Gate)
        {
            if (_ownFlush is not null || _held is { WrittenCount: > 0 })
            {
                _place = Place.Held;
                return (_held ??= new ArrayBufferWriter<byte>()).GetMemory(sizeHint);
            }

            WritePendingUnsynchronized();
            if (_isOver)
            {
                _place = Place.Waste;
                return new byte[Math.Max(sizeHint, 256)];
            }

            _place = Place.Transport;
            return _given = inner.GetMemory(sizeHint);
        }
    }

    /// <inheritdoc/>
    public override Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;

    /// <inheritdoc/>
    public override void Advance(int bytes)
    {
        var goesOn = true;
        lock (link.Gate)
        {
            switch (_place)
            {
                case Place.Held:
                    _held!.Advance(bytes);
                    break;
                case Place.Transport:
                    goesOn = LookUnsynchronized(_given.Span[..bytes]);
                    inner.Advance(bytes);
                    break;
                default:
                    break;
            }

            _place = Place.None;
            _given = default;
        }

        StopUnless(goesOn);
    }

    /// <inheritdoc/>
    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
    {
        bool goesOn;
        lock (link.Gate)
        {
            _place = Place.None;
            if (_ownFlush is { } own)
            {
                return FlushAfterAsync(own.Task, cancellationToken);
            }

            goesOn = WriteHeldUnsynchronized();
            WritePendingUnsynchronized();
            _isFlushing = true;
        }

        StopUnless(goesOn);
        return FlushInnerAsync(cancellationToken);
    }

    /// <inheritdoc/>
    public override void CancelPendingFlush() => inner.CancelPendingFlush();

    /// <inheritdoc/>
    public override void Complete(Exception? exception = null)
    {
        if (CompleteUnlessFlushing() is { } own)
        {
            // The transport takes no end while it flushes. The flush ends with the connection at the latest.
            own.ContinueWith(
                _ => inner.Complete(exception), CancellationToken.None, TaskContinuationOptions.None, TaskScheduler.Default);
        }
        else
        {
            inner.Complete(exception);
        }
    }

    /// <inheritdoc/>
    public override async ValueTask CompleteAsync(Exception? exception = null)
    {
        if (CompleteUnlessFlushing() is { } own)
        {
            await own.ConfigureAwait(false);
        }

        await inner.CompleteAsync(exception).ConfigureAwait(false);
    }

    private bool IsBetweenFramesUnsynchronized => _frames.IsBetweenFrames && !_inBlock;

    /// <summary>From now on nothing of ours is written.</summary>
    /// <returns>A flush of ours that still runs.</returns>
    private Task? CompleteUnlessFlushing()
    {
        lock (link.Gate)
        {
            _isOver = true;
            return _ownFlush?.Task;
        }
    }

    private ValueTask<FlushResult> FlushInnerAsync(CancellationToken cancellationToken)
    {
        ValueTask<FlushResult> flushing;
        try
        {
            flushing = inner.FlushAsync(cancellationToken);
        }
        catch
        {
            EndFlush();
            throw;
        }

        if (!flushing.IsCompletedSuccessfully)
        {
            return AwaitFlushAsync(flushing, cancellationToken);
        }

        var flushed = flushing.Result;
        return EndFlush() ? FlushAsync(cancellationToken) : new ValueTask<FlushResult>(flushed);
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<FlushResult> AwaitFlushAsync(ValueTask<FlushResult> flushing, CancellationToken cancellationToken)
    {
        FlushResult flushed;
        bool isMore;
        try
        {
            flushed = await flushing.ConfigureAwait(false);
        }
        finally
        {
            isMore = EndFlush();
        }

        return isMore && !flushed.IsCompleted && !flushed.IsCanceled
            ? await FlushAsync(cancellationToken).ConfigureAwait(false)
            : flushed;
    }

    private async ValueTask<FlushResult> FlushAfterAsync(Task own, CancellationToken cancellationToken)
    {
        await own.ConfigureAwait(false);
        return await FlushAsync(cancellationToken).ConfigureAwait(false);
    }

    /// <returns>Whether frames of ours came in that time, and can be written now.</returns>
    private bool EndFlush()
    {
        lock (link.Gate)
        {
            _isFlushing = false;
            return _pending is { WrittenCount: > 0 } && IsBetweenFramesUnsynchronized && !_isOver;
        }
    }

    private void AppendBlockUnsynchronized(int streamId, ReadOnlySpan<byte> block)
    {
        _pending ??= new ArrayBufferWriter<byte>();
        Span<byte> sizes = stackalloc byte[2 * HpackInteger.MaxLength];
        sizes = sizes[..link.WriteTableSizesUnsynchronized(sizes)];
        var type = Http2FrameType.Headers;
        do
        {
            var part = block[..Math.Min(block.Length, Http2Frames.DefaultMaxFrameSize - sizes.Length)];
            block = block[part.Length..];
            var frame = _pending.GetSpan(Http2FrameHeader.Size + sizes.Length + part.Length);
            new Http2FrameHeader(
                sizes.Length + part.Length, type, block.IsEmpty ? Http2FrameFlags.EndHeaders : Http2FrameFlags.None, streamId).Write(frame);
            sizes.CopyTo(frame[Http2FrameHeader.Size..]);
            part.CopyTo(frame[(Http2FrameHeader.Size + sizes.Length)..]);
            _pending.Advance(Http2FrameHeader.Size + sizes.Length + part.Length);
            sizes = default;
            type = Http2FrameType.Continuation;
        }
        while (!block.IsEmpty);
    }

    /// <summary>
    /// Kestrel's settings say what it reads of a head. Clients keep to that: they fail a larger request themselves, each in its way. More
    /// reaches us, and gets our answer.
    /// </summary>
    private void AppendSettingsUnsynchronized()
    {
        _hasSettings = true;
        _pending ??= new ArrayBufferWriter<byte>();
        var frame = _pending.GetSpan(Http2FrameHeader.Size + Http2Frames.SettingLength);
        new Http2FrameHeader(Http2Frames.SettingLength, Http2FrameType.Settings, Http2FrameFlags.None, 0).Write(frame);
        Http2Frames.WriteSetting(frame[Http2FrameHeader.Size..], Http2SettingId.MaxHeaderListSize, Http2LargeBlock.MostBytes);
        _pending.Advance(Http2FrameHeader.Size + Http2Frames.SettingLength);
    }

    private void AppendGoAwayUnsynchronized(Http2ErrorCode code)
    {
        if (_isOver || _endsAfterPending)
        {
            return;
        }

        _pending ??= new ArrayBufferWriter<byte>();
        Http2Frames.WriteGoAway(_pending.GetSpan(Http2Frames.LongLength), code, link.LastStreamUnsynchronized);
        _pending.Advance(Http2Frames.LongLength);
        _endsAfterPending = true;
    }

    /// <summary>Writes what waits, where a frame of Kestrel's has ended.</summary>
    private void WritePendingUnsynchronized()
    {
        if (_pending is not { WrittenCount: > 0 } || _isOver || !IsBetweenFramesUnsynchronized)
        {
            return;
        }

        inner.Write(_pending.WrittenSpan);
        _isOver = _endsAfterPending;
        _pending = null;
    }

    /// <returns>Whether frames of ours were written and the caller has to flush them.</returns>
    private bool TryBeginOwnFlushUnsynchronized()
    {
        if (_place != Place.None || _isFlushing || _ownFlush is not null || _isOver || !IsBetweenFramesUnsynchronized)
        {
            return false;
        }

        WritePendingUnsynchronized();
        _ownFlush = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        return true;
    }

    /// <summary>Flushes what <see cref="TryBeginOwnFlushUnsynchronized"/> has written.</summary>
    private void FlushOwn()
    {
        try
        {
            var flushing = inner.FlushAsync();
            if (!flushing.IsCompleted)
            {
                _ = AwaitOwnFlushAsync(flushing);
                return;
            }

            flushing.GetAwaiter().GetResult();
        }
        catch (Exception)
        {
            // The visitor is gone: Kestrel learns it from its own flush.
        }

        EndOwnFlush();
    }

    private async Task AwaitOwnFlushAsync(ValueTask<FlushResult> flushing)
    {
        try
        {
            await flushing.ConfigureAwait(false);
        }
        catch (Exception)
        {
            // As above.
        }

        EndOwnFlush();
    }

    private void EndOwnFlush()
    {
        TaskCompletionSource own;
        bool isMore;
        var goesOn = true;
        lock (link.Gate)
        {
            own = _ownFlush!;
            _ownFlush = null;
            if (_place != Place.Held)
            {
                goesOn = WriteHeldUnsynchronized();
            }

            isMore = _pending is { WrittenCount: > 0 } && TryBeginOwnFlushUnsynchronized();
        }

        StopUnless(goesOn);
        own.SetResult();
        if (isMore)
        {
            FlushOwn();
        }
    }

    /// <summary>Kestrel's bytes that gathered while a flush of ours ran.</summary>
    /// <returns>As <see cref="LookUnsynchronized"/>.</returns>
    private bool WriteHeldUnsynchronized()
    {
        if (_held is not { WrittenCount: > 0 } held)
        {
            return true;
        }

        _held = null;
        if (_isOver)
        {
            return true;
        }

        var goesOn = LookUnsynchronized(held.WrittenSpan);
        inner.Write(held.WrittenSpan);
        return goesOn;
    }

    /// <summary>Follows Kestrel's frames.</summary>
    /// <returns>False when the visitor has made us send too many resets: GOAWAY waits to be written.</returns>
    private bool LookUnsynchronized(ReadOnlySpan<byte> bytes)
    {
        var goesOn = true;
        while (_frames.TryRead(ref bytes, out var header, out var begin))
        {
            _inBlock = header.Type is Http2FrameType.Headers or Http2FrameType.Continuation
                ? !header.Has(Http2FrameFlags.EndHeaders)
                : _inBlock;
            if (header.Type == Http2FrameType.Settings && !header.Has(Http2FrameFlags.Ack) && !_hasSettings)
            {
                AppendSettingsUnsynchronized();
            }

            if (!link.OnSentUnsynchronized(header, begin))
            {
                AppendGoAwayUnsynchronized(Http2ErrorCode.EnhanceYourCalm);
                goesOn = false;
            }
        }

        return goesOn;
    }

    /// <summary>Not inside of Kestrel's call, nor under the gate: its reader may continue at once.</summary>
    private void StopUnless(bool goesOn)
    {
        if (!goesOn)
        {
            ThreadPool.UnsafeQueueUserWorkItem(static one => one.StopReading(), link, preferLocal: false);
        }
    }
}
