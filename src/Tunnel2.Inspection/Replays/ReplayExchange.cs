using System.Buffers;
using Tunnel2.Http1;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Heads;

namespace Tunnel2.Inspection.Replays;

/// <summary>
/// Sends a request on a connection of its own and reads the response to its end, of which it keeps the beginning. Used once.
/// </summary>
internal sealed class ReplayExchange
{
    private const int BufferSize = 128 * 1024;

    /// <summary>A response that is longer is not read to its end.</summary>
    private const long LongestBody = 256 * 1024 * 1024;

    private readonly ExchangeCapture? _capture;
    private readonly ArrayBufferWriter<byte> _kept = new();
    private readonly int _limit;
    private byte[] _head = [];
    private byte[] _trailers = [];
    private int _status;
    private long _total;

    /// <param name="limit">How many bytes of the body are kept.</param>
    /// <param name="capture">Keeps them as they come; null: <see cref="Record"/> follows.</param>
    public ReplayExchange(int limit, ExchangeCapture? capture)
    {
        _limit = limit;
        _capture = capture;
    }

    /// <summary>Whether a head of a response came.</summary>
    public bool IsAnswered => _status > 0;

    /// <summary>Runs the exchange.</summary>
    /// <returns>What went wrong, or null.</returns>
    public async Task<string?> RunAsync(
        Stream connection, ReadOnlyMemory<byte> request, KnownMethod method, CancellationToken cancellationToken)
    {
        try
        {
            // Beside the response: a peer may answer before it has read all.
            _ = SendAsync(connection, request, cancellationToken);
            return await ReceiveAsync(connection, method, cancellationToken).ConfigureAwait(false);
        }
        catch (IOException)
        {
            return "the connection broke";
        }
        catch (OperationCanceledException)
        {
            return "no whole answer came in time";
        }
    }

    /// <summary>Keeps what came as an exchange, after it is over.</summary>
    public void Record(ExchangeCapture capture)
    {
        if (IsAnswered)
        {
            capture.OnResponseHead(_head, _status);
            capture.OnResponseBody(_kept.WrittenSpan);
            capture.ResponseBody.Skip(_total - _kept.WrittenCount);
            capture.OnResponseTrailers(_trailers);
        }
    }

    /// <summary>Contains its own faults: what cannot be sent shows in the answer.</summary>
    private static async Task SendAsync(Stream connection, ReadOnlyMemory<byte> request, CancellationToken cancellationToken)
    {
        try
        {
            await connection.WriteAsync(request, cancellationToken).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException or ObjectDisposedException)
        {
            // The answer says what it was, or the caller has gone.
        }
    }

    private async Task<string?> ReceiveAsync(Stream connection, KnownMethod method, CancellationToken cancellationToken)
    {
        var buffer = new byte[BufferSize];
        var filled = 0;
        var parser = new ResponseHeadParser();
        parser.Reset(method);
        while (true)
        {
            var status = parser.Parse(buffer.AsSpan(0, filled), out var consumed);
            if (status == ParseStatus.Invalid)
            {
                return "the answer is not HTTP";
            }

            if (status == ParseStatus.Done)
            {
                var head = buffer.AsSpan(0, consumed).ToArray();
                filled -= consumed;
                buffer.AsSpan(consumed, filled).CopyTo(buffer);
                if (parser.IsInterim)
                {
                    parser.Reset(method);
                    continue;
                }

                _head = head;
                _status = parser.StatusCode;
                _capture?.OnResponseHead(head, _status);
                return await ReceiveBodyAsync(connection, parser, buffer, filled, cancellationToken).ConfigureAwait(false);
            }

            var received = filled == buffer.Length ? 0
                : await connection.ReadAsync(buffer.AsMemory(filled), cancellationToken).ConfigureAwait(false);
            if (received == 0)
            {
                return filled == 0 ? "the connection was closed before an answer" : "the answer's head was cut off";
            }

            filled += received;
        }
    }

    private async Task<string?> ReceiveBodyAsync(
        Stream connection, ResponseHeadParser parser, byte[] buffer, int filled, CancellationToken cancellationToken)
    {
        var decoder = new ChunkedDecoder(Http1Limits.Default, allowPaddedSizes: true);
        decoder.Reset();
        var remaining = parser.BodyKind == BodyKind.Length ? parser.ContentLength!.Value : 0;
        while (parser.BodyKind != BodyKind.None)
        {
            var left = 0;
            if (parser.BodyKind == BodyKind.Chunked)
            {
                var status = Decode(ref decoder, buffer.AsSpan(0, filled), out var consumed);
                if (status == ChunkedStatus.Done)
                {
                    return null;
                }

                if (status == ChunkedStatus.Invalid)
                {
                    return "the answer's chunks are malformed";
                }

                left = filled - consumed;
                buffer.AsSpan(consumed, left).CopyTo(buffer);
            }
            else
            {
                var count = parser.BodyKind == BodyKind.Length ? (int)Math.Min(remaining, filled) : filled;
                Keep(buffer.AsSpan(0, count));
                remaining -= count;
                if (parser.BodyKind == BodyKind.Length && remaining == 0)
                {
                    return null;
                }
            }

            if (_total > LongestBody)
            {
                return "the answer is longer than is read here";
            }

            var received = await connection.ReadAsync(buffer.AsMemory(left), cancellationToken).ConfigureAwait(false);
            if (received == 0)
            {
                return parser.BodyKind == BodyKind.UntilClose ? null : "the answer was cut off";
            }

            filled = left + received;
        }

        return null;
    }

    private ChunkedStatus Decode(ref ChunkedDecoder decoder, ReadOnlySpan<byte> input, out int consumed)
    {
        consumed = 0;
        while (true)
        {
            var status = decoder.Decode(input[consumed..], out var taken, out var offset, out var length);
            if (status == ChunkedStatus.Data)
            {
                Keep(input.Slice(consumed + offset, length));
            }
            else if (status == ChunkedStatus.Done)
            {
                _trailers = TrailerBlock.Of(decoder.Trailers, input[consumed..]);
                _capture?.OnResponseTrailers(_trailers);
            }

            consumed += taken;
            if (status != ChunkedStatus.Data)
            {
                return status;
            }
        }
    }

    private void Keep(ReadOnlySpan<byte> data)
    {
        _total += data.Length;
        if (_capture is not null)
        {
            _capture.OnResponseBody(data);
        }
        else
        {
            _kept.Write(data[..Math.Min(data.Length, _limit - _kept.WrittenCount)]);
        }
    }
}
