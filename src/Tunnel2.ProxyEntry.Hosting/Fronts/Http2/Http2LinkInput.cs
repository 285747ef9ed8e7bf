using System.Buffers;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Tunnel2.Http2.Frames;
using Tunnel2.Http2.Hpack;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.ProxyEntry.Fronts.Http2;

/// <summary>
/// The visitor's bytes on their way to Kestrel: each is looked at once, and they pass as they are, except for header blocks of several
/// frames (see <see cref="Http2LargeBlock"/>). For one reader, which consumes what it has examined.
/// </summary>
/// <remarks>
/// Heads pass in turns. Kestrel decodes all that a read has brought before the first of these requests is looked at, and compressed heads
/// are a hundred times as large then. So after a few of them the reader waits until the requests that were begun before have had their
/// turn: those that are too many are refused by then, and their heads are garbage.
/// </remarks>
internal sealed class Http2LinkInput(Http2Link link, PipeReader inner, HpackShortenerLimits heads) : PipeReader
{
    /// <summary>Heads that Kestrel gets before others have a turn.</summary>
    public const int HeadsOfATurn = 16;

    private Http2FrameScanner _frames = new(Http2Frames.Preface.Length);
    private ReadOnlySequence<byte> _read;
    private ReadOnlySequence<byte> _shown;
    private ArrayBufferWriter<byte>? _own;
    private Http2LargeBlock? _block;
    private int _ownConsumed;
    private long _seen;
    private long _held;
    private int _heads = HeadsOfATurn;
    private bool _passesBlocks;
    private bool _hasEnded;

    /// <inheritdoc/>
    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
    {
        if (_heads <= 0)
        {
            _heads = HeadsOfATurn;
            return ReadAfterOthersAsync(cancellationToken);
        }

        if (TryShowAtOnce(out var shown))
        {
            return new ValueTask<ReadResult>(shown);
        }

        var reading = inner.ReadAsync(cancellationToken);
        return !reading.IsCompletedSuccessfully ? WaitAsync(reading, cancellationToken)
            : TryLook(reading.Result, out shown) ? new ValueTask<ReadResult>(shown)
            : WaitAsync(inner.ReadAsync(cancellationToken), cancellationToken);
    }

    /// <inheritdoc/>
    public override bool TryRead(out ReadResult result)
    {
        if (TryShowAtOnce(out result))
        {
            return true;
        }

        while (inner.TryRead(out var read))
        {
            if (TryLook(read, out result))
            {
                return true;
            }
        }

        return false;
    }

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        if (_hasEnded)
        {
            // The reader was given the end in place of what had come.
            return;
        }

        var length = _shown.Slice(0, consumed).Length;
        if (_own is not null)
        {
            _ownConsumed += (int)length;
            if (_ownConsumed == _own.WrittenCount)
            {
                _own = null;
            }
        }
        else
        {
            _seen -= length;

            // What is held back can be shown only when more has come.
            var isAll = _held > 0 && _shown.Slice(examined).IsEmpty;
            inner.AdvanceTo(consumed, isAll ? _read.End : examined);
        }

        _shown = default;
        _read = default;
    }

    /// <inheritdoc/>
    public override void CancelPendingRead() => inner.CancelPendingRead();

    /// <inheritdoc/>
    public override void Complete(Exception? exception = null) => inner.Complete(exception);

    /// <inheritdoc/>
    public override ValueTask CompleteAsync(Exception? exception = null) => inner.CompleteAsync(exception);

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<ReadResult> WaitAsync(ValueTask<ReadResult> reading, CancellationToken cancellationToken)
    {
        ReadResult shown;
        while (!TryLook(await reading.ConfigureAwait(false), out shown))
        {
            reading = inner.ReadAsync(cancellationToken);
        }

        return shown;
    }

    /// <summary>Kestrel queues each request to the thread pool when it has decoded the head: this comes after all of them.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<ReadResult> ReadAfterOthersAsync(CancellationToken cancellationToken)
    {
        await new SchedulerYield(PipeScheduler.ThreadPool);
        return await ReadAsync(cancellationToken).ConfigureAwait(false);
    }

    private bool TryShowAtOnce(out ReadResult shown)
    {
        shown = default;
        if (_hasEnded || link.IsRefused)
        {
            shown = End();
            return true;
        }

        if (_own is null)
        {
            return false;
        }

        shown = ShowOwn();
        return true;
    }

    /// <summary>Looks at what has come.</summary>
    /// <returns>False when nothing of it can be shown yet: the transport has to be read again.</returns>
    private bool TryLook(ReadResult read, out ReadResult shown)
    {
        _read = read.Buffer;
        if (read.IsCanceled && !link.IsRefused)
        {
            _shown = _read.Slice(0, _seen);
            shown = new ReadResult(_shown, isCanceled: true, read.IsCompleted);
            return true;
        }

        if (_block is null && !link.IsRefused)
        {
            Scan();
        }

        if (_block is not null && _seen == 0 && !link.IsRefused && TryTakeFrames(_block, read.IsCompleted))
        {
            shown = default;
            if (_own is null && !link.IsRefused)
            {
                return false;
            }

            shown = link.IsRefused ? End() : ShowOwn();
            return true;
        }

        if (link.IsRefused)
        {
            inner.AdvanceTo(_read.End);
            shown = End();
            return true;
        }

        _shown = _seen == _read.Length ? _read : _read.Slice(0, _seen);
        shown = new ReadResult(_shown, isCanceled: false, read.IsCompleted);
        if (_seen > 0 || read.IsCompleted)
        {
            return true;
        }

        inner.AdvanceTo(_read.Start, _read.End);
        return false;
    }

    /// <summary>
    /// Finds out how much can be shown: up to a block of several frames, or the last head of a turn; and not the beginning of a header that
    /// may be the one of such a block.
    /// </summary>
    private void Scan()
    {
        var at = _seen + _held;

        // Where no turn was waited for in between, there must be something to show all the same.
        _heads = _heads > 0 ? _heads : HeadsOfATurn;
        foreach (var piece in _read.Slice(at))
        {
            var bytes = piece.Span;
            Http2LinkStop stop;
            while ((stop = link.OnReceived(_frames, ref bytes, ref _heads)) != Http2LinkStop.None)
            {
                if (stop == Http2LinkStop.Block && _passesBlocks)
                {
                    continue;
                }

                _seen = at + piece.Length - bytes.Length - Http2FrameHeader.Size;
                _held = 0;
                if (stop == Http2LinkStop.Block)
                {
                    _block = new Http2LargeBlock(heads);
                }
                else
                {
                    // It is looked at again, from its header on.
                    _frames = new Http2FrameScanner(preface: 0);
                }

                return;
            }

            at += piece.Length;
        }

        _held = _passesBlocks ? 0 : _frames.Gathered;
        _seen = at - _held;
    }

    /// <summary>Takes the frames of a block that are there, until something has to be shown. The transport is advanced.</summary>
    /// <param name="block">The block.</param>
    /// <param name="isEnd">Whether nothing more comes.</param>
    /// <returns>False when the rest has to pass as it is; then the transport is not advanced.</returns>
    private bool TryTakeFrames(Http2LargeBlock block, bool isEnd)
    {
        var rest = _read;
        Span<byte> first = stackalloc byte[Http2FrameHeader.Size];
        while (_block is not null && _own is null && !link.IsRefused)
        {
            if (rest.Length < first.Length)
            {
                break;
            }

            rest.Slice(0, first.Length).CopyTo(first);
            var header = Http2FrameHeader.Read(first);
            if (header.Length <= Http2Frames.DefaultMaxFrameSize && rest.Length < first.Length + header.Length)
            {
                break;
            }

            if (header.Length > Http2Frames.DefaultMaxFrameSize || !TryTakeFrame(block, header, rest.Slice(first.Length, header.Length)))
            {
                return PassTheRest(rest);
            }

            rest = rest.Slice(first.Length + header.Length);
            if (header.Has(Http2FrameFlags.EndHeaders))
            {
                _block = null;
                _frames = new Http2FrameScanner(preface: 0);
            }
        }

        if (_own is null && isEnd && !link.IsRefused)
        {
            return PassTheRest(rest);
        }

        inner.AdvanceTo(rest.Start, _own is null ? rest.End : rest.Start);
        return true;
    }

    private bool TryTakeFrame(Http2LargeBlock block, Http2FrameHeader header, in ReadOnlySequence<byte> payload)
    {
        var own = new ArrayBufferWriter<byte>();
        if (!block.TryTake(header, payload.IsSingleSegment ? payload.FirstSpan : payload.ToArray(), own))
        {
            return false;
        }

        if (header.Type == Http2FrameType.Continuation)
        {
            link.OnContinuation(block.IsTooLarge);
        }

        if (own.WrittenCount > 0)
        {
            (_own, _ownConsumed) = (own, 0);
        }

        return true;
    }

    /// <summary>Kestrel ends the connection for what comes next, or its visitor has: it passes as it is.</summary>
    private bool PassTheRest(in ReadOnlySequence<byte> rest)
    {
        _block = null;
        _passesBlocks = true;
        _frames = new Http2FrameScanner(preface: 0);
        _read = rest;
        Scan();
        return false;
    }

    private ReadResult ShowOwn()
    {
        _shown = new ReadOnlySequence<byte>(_own!.WrittenMemory[_ownConsumed..]);
        return new ReadResult(_shown, isCanceled: false, isCompleted: false);
    }

    private ReadResult End()
    {
        _hasEnded = true;
        return new ReadResult(ReadOnlySequence<byte>.Empty, isCanceled: false, isCompleted: true);
    }
}
