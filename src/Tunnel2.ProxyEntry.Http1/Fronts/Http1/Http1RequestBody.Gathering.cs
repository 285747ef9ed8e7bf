using System.Buffers;
using System.IO.Pipelines;
using Tunnel2.Http1;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <content>
/// Small chunks that arrived together are copied together and returned as one run. Otherwise each would be a read, a frame and a send of
/// its own, and a visitor who sends chunks of one byte would cost a thousand times what it sends.
/// </content>
internal sealed partial class Http1RequestBody
{
    /// <summary>A chunk of at least this size is returned by itself, without a copy.</summary>
    private const int SmallRun = 1024;

    private const int GatherSize = 16 * 1024;

    private byte[]? _gathered;
    private int _gatheredStart;
    private int _gatheredEnd;
    private bool _isGathered;

    /// <summary>Whether the returned bytes come from the last read, so the pipe still has to be advanced.</summary>
    private bool _holdsInput;

    /// <summary>
    /// Whether the returned bytes are the last ones. Trailers are parsed only after all bytes before them were consumed; then another read
    /// reports the end.
    /// </summary>
    private bool IsLastShown => _isDecoded && _trailers is null;

    private static BadHttpRequestException BrokenCoding() => new("The request's chunked coding is broken.");

    /// <summary>Copies the first run, and the runs after it that are at hand.</summary>
    private void Gather(ReadOnlySequence<byte> buffer, long start, int length)
    {
        var rest = new SequenceReader<byte>(buffer);
        rest.Advance(start + length);
        if (rest.End)
        {
            return;
        }

        _gathered ??= ArrayPool<byte>.Shared.Rent(GatherSize);
        buffer.Slice(start, length).CopyTo(_gathered);
        var filled = length;
        while (filled < GatherSize && !rest.End && !_isDecoded)
        {
            var input = rest.UnreadSpan;
            input = input[..Math.Min(input.Length, GatherSize - filled)];
            var status = _chunks.Decode(input, out var used, out var offset, out var count);
            if (status == ChunkedStatus.Invalid)
            {
                throw BrokenCoding();
            }

            if (status == ChunkedStatus.Data)
            {
                Count(count);
                input.Slice(offset, count).CopyTo(_gathered.AsSpan(filled));
                filled += count;
            }
            else if (status == ChunkedStatus.Done)
            {
                _isDecoded = true;
                KeepTrailers(input);
            }

            rest.Advance(used);
            if (status == ChunkedStatus.NeedMore && used < input.Length)
            {
                // Trailers have begun: the next read handles them.
                _wantsWhole = true;
                break;
            }
        }

        _behind = rest.Position;
        _holdsInput = true;
        ShowGathered(0, filled);
    }

    /// <summary>Returns gathered bytes again that were not consumed.</summary>
    private bool ShowsGathered(out ReadResult result)
    {
        if (_gatheredEnd == 0)
        {
            result = default;
            return false;
        }

        ShowGathered(_gatheredStart, _gatheredEnd);
        result = new ReadResult(_shown, isCanceled: false, IsLastShown);
        return true;
    }

    private void ShowGathered(int start, int end)
    {
        (_gatheredStart, _gatheredEnd) = (start, end);
        _isGathered = true;
        _shown = new ReadOnlySequence<byte>(_gathered!, start, end - start);
    }

    private void AdvanceGathered(SequencePosition consumed)
    {
        _gatheredStart += (int)_shown.Slice(0, consumed).Length;
        _isGathered = false;
        _shown = ReadOnlySequence<byte>.Empty;
        if (_gatheredStart == _gatheredEnd)
        {
            ReleaseGathered();
            IsFinished = _isDecoded;
        }

        if (_holdsInput)
        {
            _holdsInput = false;
            _input.AdvanceTo(_behind);
        }
    }

    private void ReleaseGathered()
    {
        _gatheredStart = _gatheredEnd = 0;
        _isGathered = false;
        if (_gathered is { } gathered)
        {
            _gathered = null;
            ArrayPool<byte>.Shared.Return(gathered);
        }
    }
}
