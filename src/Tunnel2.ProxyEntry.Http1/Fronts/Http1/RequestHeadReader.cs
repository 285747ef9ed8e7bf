using System.Buffers;
using System.IO.Pipelines;
using Tunnel2.Http1;
using Tunnel2.Multiplexing.Buffers;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>
/// Reads request heads from a connection's buffers. A head in one piece is parsed in place, and the pipe keeps it until it is released. Any
/// other head is copied together, each byte once. Used by one request at a time.
/// </summary>
internal sealed class RequestHeadReader
{
    private const int FirstCopy = 8 * 1024;

    private static ReadOnlySpan<byte> Http2Preface => "PRI * HTTP/2.0\r\n"u8;

    private readonly PipeReader _input;
    private readonly BufferPool _buffers;
    private byte[]? _copy;
    private int _copied;
    private SequencePosition _end;
    private bool _isHeld;

    public RequestHeadReader(PipeReader input, Http1Limits limits, BufferPool buffers)
    {
        _input = input;
        _buffers = buffers;
        Parser = new RequestHeadParser(limits);
    }

    /// <summary>The parser; its ranges are relative to <see cref="Head"/>.</summary>
    public RequestHeadParser Parser { get; }

    /// <summary>The head's bytes, valid until <see cref="Release"/>.</summary>
    public ReadOnlyMemory<byte> Head { get; private set; }

    /// <summary>Whether the head breaks a rule.</summary>
    public bool IsInvalid { get; private set; }

    /// <summary>Begins the next head.</summary>
    public void Begin()
    {
        Parser.Reset();
        _copied = 0;
        Head = default;
        IsInvalid = false;
    }

    /// <summary>Parses the received bytes.</summary>
    /// <param name="buffer">All bytes from the head's first one on, as the pipe gave them.</param>
    /// <param name="mayBeHttp2">Whether the preface of HTTP/2 may come here.</param>
    /// <returns>
    /// NeedMore, Request or Http2. With NeedMore and Http2 the pipe has been advanced; with Request <see cref="Release"/> advances it.
    /// </returns>
    public HeadReadOutcome Read(ReadOnlySequence<byte> buffer, bool mayBeHttp2)
    {
        var memory = buffer.IsSingleSegment && _copied == 0 ? buffer.First : CopyTogether(buffer);
        var status = Parser.Parse(memory.Span, out var consumed);
        if (status == ParseStatus.Invalid && mayBeHttp2 && Parser.Error is Http1Error.UnsupportedVersion or Http1Error.InvalidVersion)
        {
            var begin = memory.Span[..Math.Min(memory.Length, Http2Preface.Length)];
            if (Http2Preface.StartsWith(begin))
            {
                var isWhole = begin.Length == Http2Preface.Length;
                _input.AdvanceTo(buffer.Start, isWhole ? buffer.Start : buffer.End);
                return isWhole ? HeadReadOutcome.Http2 : HeadReadOutcome.NeedMore;
            }
        }

        switch (status)
        {
            case ParseStatus.NeedMore:
                _input.AdvanceTo(buffer.Start, buffer.End);
                return HeadReadOutcome.NeedMore;
            case ParseStatus.Invalid:
                IsInvalid = true;
                Head = memory;
                _end = buffer.End;
                break;
            default:
                Head = memory[..consumed];
                _end = buffer.GetPosition(consumed);
                break;
        }

        _isHeld = true;
        return HeadReadOutcome.Request;
    }

    /// <summary>Advances the pipe past the head, which is copied first: the head stays valid, and the bytes after it can be read.</summary>
    public void MoveOn()
    {
        if (!_isHeld)
        {
            return;
        }

        if (_copied == 0)
        {
            var length = Head.Length;
            EnsureCopy(length);
            Head.Span.CopyTo(_copy);
            Head = _copy.AsMemory(0, length);
        }

        _isHeld = false;
        _input.AdvanceTo(_end);
    }

    /// <summary>Releases the head.</summary>
    public void Release()
    {
        Head = default;
        if (_isHeld)
        {
            _isHeld = false;
            _input.AdvanceTo(_end);
        }

        if (_copy is { } copy)
        {
            _copy = null;
            _copied = 0;
            _buffers.Return(copy);
        }
    }

    /// <summary>Appends the new bytes to those copied before.</summary>
    private ReadOnlyMemory<byte> CopyTogether(ReadOnlySequence<byte> buffer)
    {
        var length = (int)buffer.Length;
        EnsureCopy(length);
        buffer.Slice(_copied).CopyTo(_copy.AsSpan(_copied));
        _copied = length;
        return _copy.AsMemory(0, length);
    }

    private void EnsureCopy(int length)
    {
        if (_copy is not null && _copy.Length >= length)
        {
            return;
        }

        var larger = _buffers.Rent(Math.Max(length, FirstCopy));
        if (_copy is { } smaller)
        {
            smaller.AsSpan(0, _copied).CopyTo(larger);
            _buffers.Return(smaller);
        }

        _copy = larger;
    }
}
