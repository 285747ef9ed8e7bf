using Tunnel2.Http1;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// Decodes a chunked response in the buffer that it was received into: the runs of body bytes are moved together, so that many small
/// chunks that arrived at once leave as one frame. Used by one exchange at a time and again by the next.
/// </summary>
internal sealed class ResponseChunks
{
    private ChunkedDecoder _decoder = new(Http1Limits.Default, allowPaddedSizes: true);
    private int _trailersAt;

    /// <summary>After decoding: where the undecoded bytes begin.</summary>
    public int Consumed { get; private set; }

    /// <summary>After Done: whether there are trailers to forward.</summary>
    public bool HasTrailers => _decoder.Trailers.Length > 0;

    /// <summary>After Done: the trailers, relative to <see cref="TrailerBytes"/>.</summary>
    public ReadOnlySpan<FieldRange> Trailers => _decoder.Trailers;

    public ReadOnlySpan<byte> TrailerBytes(byte[] buffer) => buffer.AsSpan(_trailersAt);

    public void Reset() => _decoder.Reset();

    /// <summary>Decodes all there is.</summary>
    /// <param name="buffer">The buffer.</param>
    /// <param name="start">Where undecoded bytes begin; the body's bytes are moved together from here on.</param>
    /// <param name="filled">Where they end.</param>
    /// <param name="bodyLength">Body bytes found, from <paramref name="start"/> on.</param>
    public ChunkedStatus DecodeInPlace(byte[] buffer, int start, int filled, out int bodyLength)
    {
        bodyLength = 0;
        var position = start;
        while (true)
        {
            var input = buffer.AsSpan(position, filled - position);
            var status = _decoder.Decode(input, out var consumed, out var dataOffset, out var dataLength);
            if (status == ChunkedStatus.Data)
            {
                input.Slice(dataOffset, dataLength).CopyTo(buffer.AsSpan(start + bodyLength));
                bodyLength += dataLength;
                position += consumed;
                continue;
            }

            _trailersAt = position;
            Consumed = position + consumed;
            return status;
        }
    }
}
