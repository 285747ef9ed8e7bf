using System.Buffers;
using System.IO.Pipelines;
using Tunnel2.Http1;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <content>
/// Small chunks that came together are copied together and shown as one run: else each would be a read, a frame and a send of its own, and
/// a visitor who writes chunks of a byte would cost a thousand times what it sends.
/// </content>
internal sealed partial class Http1RequestBody
{
    /// <summary>A chunk of this size is worth being shown by itself, where it lies.</summary>
    private const int SmallRun = 1024;

    private const int GatherSize = 16 * 1024;

    private byte[]? _gathered;
    private int _gatheredStart;
    private int _gatheredEnd;
    private bool _isGathered;

    /// <summary>Whether what is shown was read just now, so that the pipe waits to be told.</summary>
    private bool _holdsInput;

    /// <summary>
    /// Whether the end comes with what is shown. Trailers are there only once all before them was taken: then a read of its own says the
    /// end.
    /// </summary>
    private bool IsLastShown => _isDecoded && _trailers is null;

    private static BadHttpRequestException BrokenCoding() => new("The request's chunked coding is broken.");

    /// <summary>Copies the run that was found first, and those behind it that are at hand.</summary>
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
                // Trailers have begun: the next read deals with them.
                _wantsWhole = true;
                break;
            }
        }

        _behind = rest.Position;
        _holdsInput = true;
        ShowGathered(0, filled);
    }

    /// <summary>Shows again what was gathered and not taken.</summary>
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
