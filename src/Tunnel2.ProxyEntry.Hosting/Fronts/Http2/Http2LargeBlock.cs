using System.Buffers;
using Tunnel2.Http2.Frames;
using Tunnel2.Http2.Hpack;

namespace Tunnel2.ProxyEntry.Fronts.Http2;

/// <summary>
/// A header block of several frames on its way to Kestrel. Kestrel ends the connection for one that is too large, and with it all other
/// requests; what reaches it of such a block is so little that it gives the request to us, and we answer it. Each frame passes as soon as
/// it is there, so that Kestrel's time for a head runs, and nothing of the block is kept. Not thread-safe.
/// </summary>
/// <param name="limits">What is left of a block that is too large.</param>
internal sealed class Http2LargeBlock(HpackShortenerLimits limits)
{
    /// <summary>The compressed bytes that a block may have at most, and what visitors learn of it. More end the connection.</summary>
    public const int MostBytes = 2 * 1024 * 1024;

    private readonly HpackShortener _shortener = new(limits);
    private Http2FrameType _next = Http2FrameType.Headers;
    private int _stream;
    private int _taken;

    /// <summary>Whether the block was too large so far.</summary>
    public bool IsTooLarge => _taken > MostBytes;

    /// <summary>Takes a whole frame.</summary>
    /// <param name="header">Its header.</param>
    /// <param name="payload">Its payload.</param>
    /// <param name="output">Gets the frames that take its place.</param>
    /// <returns>False when the frame cannot be there: nothing was written, and Kestrel has to say so.</returns>
    public bool TryTake(Http2FrameHeader header, ReadOnlySpan<byte> payload, ArrayBufferWriter<byte> output)
    {
        var isFirst = header.Type == Http2FrameType.Headers;
        if (header.Type != _next || (!isFirst && header.StreamId != _stream) || (isFirst && !Http2Frames.TryUnpad(header, ref payload)))
        {
            return false;
        }

        if (isFirst)
        {
            _next = Http2FrameType.Continuation;
            _stream = header.StreamId;
            _shortener.Begin();
        }

        _taken += payload.Length;

        // A buffer of its own: a connection whose block does not continue holds none.
        var fragment = new ArrayBufferWriter<byte>(Http2Frames.DefaultMaxFrameSize);
        _shortener.Write(payload, fragment);
        var isLast = header.Has(Http2FrameFlags.EndHeaders);
        if (isLast)
        {
            _shortener.End(fragment);
        }

        if (isFirst || isLast || fragment.WrittenCount > 0)
        {
            WriteFrames(header, fragment.WrittenSpan, output);
        }

        return true;
    }

    private void WriteFrames(Http2FrameHeader header, ReadOnlySpan<byte> fragment, ArrayBufferWriter<byte> output)
    {
        var (type, first) = (header.Type, header.Flags & Http2FrameFlags.EndStream);
        do
        {
            var part = fragment[..Math.Min(fragment.Length, Http2Frames.DefaultMaxFrameSize)];
            fragment = fragment[part.Length..];
            var last = fragment.IsEmpty ? header.Flags & Http2FrameFlags.EndHeaders : Http2FrameFlags.None;
            new Http2FrameHeader(part.Length, type, first | last, _stream).Write(output.GetSpan(Http2FrameHeader.Size));
            output.Advance(Http2FrameHeader.Size);
            output.Write(part);
            (type, first) = (Http2FrameType.Continuation, Http2FrameFlags.None);
        }
        while (!fragment.IsEmpty);
    }
}
