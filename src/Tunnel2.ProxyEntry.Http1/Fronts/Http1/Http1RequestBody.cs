using System.Buffers;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Tunnel2.Http1;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>
/// The body of a visitor's request, read from its connection: slices of the connection's own buffers, without their framing. Bytes after
/// the body are left for the next request. One reader at a time; reused for the next request.
/// </summary>
/// <remarks>
/// <see cref="ReadAsync"/> throws <see cref="BadHttpRequestException"/> when the framing is broken or a limit passed (413), and an
/// <see cref="IOException"/> when the connection ends before the body does.
/// </remarks>
internal sealed partial class Http1RequestBody : PipeReader
{
    /// <summary>
    /// What follows the data of the last chunk in most bodies. It is recognised at once, so the end needs no read of its own.
    /// </summary>
    private static ReadOnlySpan<byte> UsualEnd => "\r\n0\r\n\r\n"u8;

    private readonly PipeReader _input;
    private readonly Http1Limits _limits;
    private ChunkedDecoder _chunks;
    private BodyKind _kind;
    private long _left;
    private long _allowed;
    private long _ahead;
    private int _tail;
    private bool _isDecoded;
    private bool _wantsWhole;
    private ReadOnlySequence<byte> _shown;
    private SequencePosition _behind;
    private byte[]? _scratch;
    private TrailerSection? _trailers;

    public Http1RequestBody(PipeReader input, Http1Limits limits)
    {
        _input = input;
        _limits = limits;
        _chunks = new ChunkedDecoder(limits);
    }

    /// <summary>Whether the body was read to its end, framing included.</summary>
    public bool IsFinished { get; private set; }

    /// <summary>The trailers, or null where there were none.</summary>
    public TrailerSection? Trailers => IsFinished && _kind == BodyKind.Chunked ? _trailers : null;

    /// <summary>Begins the body of the next request.</summary>
    /// <param name="kind">How it is framed.</param>
    /// <param name="length">Its length in bytes, if declared.</param>
    /// <param name="limit">How many bytes it may have.</param>
    public void Begin(BodyKind kind, long length, long limit)
    {
        _kind = kind;
        _left = length;
        _allowed = limit;
        _ahead = 0;
        _tail = 0;
        ReleaseGathered();
        _isDecoded = false;
        _wantsWhole = false;
        _trailers = null;
        IsFinished = kind == BodyKind.None;
        if (kind == BodyKind.Chunked)
        {
            _chunks.Reset();
        }
    }

    /// <inheritdoc/>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public override async ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
    {
        if (ShowsGathered(out var gathered))
        {
            return gathered;
        }

        while (!IsFinished)
        {
            var read = await _input.ReadAsync(cancellationToken).ConfigureAwait(false);
            if (read.IsCanceled)
            {
                _shown = read.Buffer.Slice(0, 0);
                _behind = read.Buffer.Start;
                return new ReadResult(_shown, isCanceled: true, isCompleted: false);
            }

            if (TryShow(read, out var result))
            {
                return result;
            }
        }

        _shown = ReadOnlySequence<byte>.Empty;
        return new ReadResult(ReadOnlySequence<byte>.Empty, isCanceled: false, isCompleted: true);
    }

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    /// <inheritdoc/>
    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        if (_isGathered)
        {
            AdvanceGathered(consumed);
            return;
        }

        if (_shown.IsEmpty)
        {
            if (!IsFinished)
            {
                _input.AdvanceTo(_behind);
            }

            return;
        }

        var taken = _shown.Slice(0, consumed).Length;
        if (taken == _shown.Length)
        {
            _ahead = 0;
            IsFinished = _isDecoded;
            _input.AdvanceTo(_behind);
        }
        else
        {
            _ahead = _shown.Length - taken;
            _input.AdvanceTo(consumed, examined);
        }

        if (_kind == BodyKind.Length)
        {
            _left -= taken;
            _ahead = 0;
        }

        _shown = ReadOnlySequence<byte>.Empty;
    }

    /// <inheritdoc/>
    public override void CancelPendingRead() => _input.CancelPendingRead();

    /// <inheritdoc/>
    public override void Complete(Exception? exception = null)
    {
        // The connection outlives the body.
    }

    /// <inheritdoc/>
    public override bool TryRead(out ReadResult result)
    {
        if (ShowsGathered(out result))
        {
            return true;
        }

        if (IsFinished)
        {
            _shown = ReadOnlySequence<byte>.Empty;
            result = new ReadResult(_shown, isCanceled: false, isCompleted: true);
            return true;
        }

        if (_input.TryRead(out var read) && !read.IsCanceled)
        {
            return TryShow(read, out result);
        }

        result = default;
        return false;
    }

    /// <summary>Gives back all buffers.</summary>
    public void Release()
    {
        ReleaseGathered();
        if (_scratch is { } scratch)
        {
            _scratch = null;
            ArrayPool<byte>.Shared.Return(scratch);
        }
    }

    private bool TryShow(ReadResult read, out ReadResult result)
    {
        var buffer = read.Buffer;
        bool hasData;
        try
        {
            hasData = _kind == BodyKind.Length ? TakeLength(buffer) : TryDecode(buffer);
        }
        catch (BadHttpRequestException)
        {
            // The bytes after this fault cannot be parsed.
            _input.AdvanceTo(buffer.End);
            throw;
        }

        result = new ReadResult(_shown, isCanceled: false, IsLastShown);
        if (hasData)
        {
            return true;
        }

        _input.AdvanceTo(_behind, _isDecoded ? _behind : buffer.End);
        IsFinished = _isDecoded;
        return !IsFinished && read.IsCompleted ? throw new IOException("The visitor ended its direction within a request's body.") : false;
    }

    private bool TakeLength(ReadOnlySequence<byte> buffer)
    {
        _isDecoded = buffer.Length >= _left;
        _shown = buffer.Length > _left ? buffer.Slice(0, _left) : buffer;
        _behind = _shown.End;
        return !_shown.IsEmpty;
    }

    /// <summary>Decodes the next run of data, over all its segments.</summary>
    /// <returns>Whether there is data. If not, all bytes before <see cref="_behind"/> have been consumed.</returns>
    private bool TryDecode(ReadOnlySequence<byte> buffer)
    {
        if (_ahead > 0)
        {
            // Decoded by an earlier call, and not consumed then.
            _shown = buffer.Slice(0, _ahead);
            _behind = buffer.GetPosition(_ahead + _tail);
            return true;
        }

        _tail = 0;
        if (_wantsWhole)
        {
            return DecodeWhole(buffer, 0);
        }

        var before = 0L;
        var start = -1L;
        var length = 0L;
        foreach (var segment in buffer)
        {
            var span = segment.Span;
            var status = _chunks.Decode(span, out var used, out var offset, out var count);
            switch (status)
            {
                case ChunkedStatus.Data:
                    start = start < 0 ? before + offset : start;
                    length += count;
                    Count(count);
                    if (!_chunks.IsInData)
                    {
                        Show(buffer, start, length);
                        if (!_isDecoded && length < SmallRun)
                        {
                            Gather(buffer, start, (int)length);
                        }

                        return true;
                    }

                    break;
                case ChunkedStatus.Invalid:
                    throw BrokenCoding();
                case ChunkedStatus.Done:
                    return Finish(buffer, before + used, span);
                case ChunkedStatus.NeedMore when used < span.Length:
                    return DecodeWhole(buffer, before + used);
                default:
                    break;
            }

            before += span.Length;
        }

        if (start >= 0)
        {
            Show(buffer, start, length);
            return true;
        }

        _shown = ReadOnlySequence<byte>.Empty;
        _behind = buffer.End;
        return false;
    }

    private void Show(ReadOnlySequence<byte> buffer, long start, long length)
    {
        _shown = buffer.Slice(start, length);
        _behind = _shown.End;
        var rest = buffer.Slice(_behind);
        if (rest.Length < UsualEnd.Length)
        {
            return;
        }

        Span<byte> end = stackalloc byte[UsualEnd.Length];
        rest.Slice(0, end.Length).CopyTo(end);
        if (end.SequenceEqual(UsualEnd) && _chunks.Decode(end, out _, out _, out _) == ChunkedStatus.Done)
        {
            _isDecoded = true;
            _tail = end.Length;
            _behind = buffer.GetPosition(_tail, _behind);
        }
    }

    private void Count(int count)
    {
        _allowed -= count;
        if (_allowed < 0)
        {
            throw new BadHttpRequestException("The request's body is larger than the limit.", StatusCodes.Status413PayloadTooLarge);
        }
    }

    private bool Finish(ReadOnlySequence<byte> buffer, long end, ReadOnlySpan<byte> decoded)
    {
        _isDecoded = true;
        _shown = ReadOnlySequence<byte>.Empty;
        _behind = buffer.GetPosition(end);
        KeepTrailers(decoded);
        return false;
    }

    private void KeepTrailers(ReadOnlySpan<byte> decoded)
    {
        if (!_chunks.Trailers.IsEmpty)
        {
            _trailers = TrailerSection.Copy(_chunks.Trailers, decoded);
        }
    }

    /// <summary>A trailer section has begun and is not complete: the decoder wants it in one piece, from its first byte.</summary>
    private bool DecodeWhole(ReadOnlySequence<byte> buffer, long at)
    {
        _wantsWhole = true;
        var rest = buffer.Slice(at);

        // The decoder refuses a section that is longer than the limit of heads.
        var size = (int)Math.Min(rest.Length, _limits.MaxHeadBytes + 1);
        if (_scratch is null || _scratch.Length < size)
        {
            Release();
            _scratch = ArrayPool<byte>.Shared.Rent(size);
        }

        var whole = _scratch.AsSpan(0, size);
        rest.Slice(0, size).CopyTo(whole);
        switch (_chunks.Decode(whole, out var used, out _, out _))
        {
            case ChunkedStatus.Invalid:
                throw new BadHttpRequestException("The request's trailers are broken.");
            case ChunkedStatus.Done:
                return Finish(buffer, at + used, whole);
            default:
                _shown = ReadOnlySequence<byte>.Empty;
                _behind = rest.Start;
                return false;
        }
    }
}
