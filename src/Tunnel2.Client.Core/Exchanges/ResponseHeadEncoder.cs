using Tunnel2.Http1;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// Puts a parsed response head, or trailers, into a stream as a header block: order, case and duplicates as the backend wrote them.
/// </summary>
internal static class ResponseHeadEncoder
{
    private const int FirstGuess = 2 * 1024;

    /// <summary>Sends a response head with as much of the body as is at hand.</summary>
    /// <param name="stream">The stream.</param>
    /// <param name="parser">The head.</param>
    /// <param name="buffer">What it was parsed from.</param>
    /// <param name="body">The first body bytes.</param>
    /// <param name="end">Whether the response ends after them.</param>
    /// <param name="timing">What the exchange took, for those who asked.</param>
    /// <param name="bodyTaken">How many of them left with the head.</param>
    /// <param name="status">How sending went.</param>
    /// <returns>False when the head is too large for the wire.</returns>
    public static bool TrySend(
        TunnelStream stream, ResponseHeadParser parser, ReadOnlySpan<byte> buffer, ReadOnlySpan<byte> body, bool end, ExchangeTiming timing,
        out int bodyTaken, out StreamSendStatus status)
    {
        for (var size = FirstGuess;
             size <= ProtocolLimits.MaxHeaderBlockLength;
             size = size < ProtocolLimits.MaxHeaderBlockLength ? Math.Min(size * 8, ProtocolLimits.MaxHeaderBlockLength) : int.MaxValue)
        {
            var writer = new HeaderBlockWriter(stream.BeginHead(size, body.Length));
            WriteHead(ref writer, parser, buffer);
            timing.Write(ref writer);
            var length = writer.Complete();
            if (writer.HasTooManyFields)
            {
                break;
            }

            if (!writer.Overflowed)
            {
                status = stream.EndHead(length, body, end, out bodyTaken);
                return true;
            }
        }

        bodyTaken = 0;
        status = StreamSendStatus.LocalReset;
        return false;
    }

    /// <summary>Sends trailers, which end the response.</summary>
    public static bool TrySendTrailers(
        TunnelStream stream, ReadOnlySpan<FieldRange> trailers, ReadOnlySpan<byte> buffer, out StreamSendStatus status)
    {
        var writer = new HeaderBlockWriter(stream.BeginHead(ProtocolLimits.MaxHeaderBlockLength));
        writer.BeginTrailers();
        foreach (ref readonly var field in trailers)
        {
            if (FieldRules.OfTrailer(field.Known, field.Name(buffer)) == FieldRule.Pass)
            {
                writer.AddField(field.Name(buffer), field.Value(buffer));
            }
        }

        var length = writer.Complete();
        if (writer.Overflowed || writer.HasTooManyFields)
        {
            status = StreamSendStatus.LocalReset;
            return false;
        }

        status = stream.EndHead(length, default, end: true, out _);
        return true;
    }

    internal static void WriteHead(ref HeaderBlockWriter writer, ResponseHeadParser parser, ReadOnlySpan<byte> buffer)
    {
        var switches = parser.StatusCode == 101;
        writer.BeginResponse(switches ? HeaderBlockFlags.Upgrade : HeaderBlockFlags.None, parser.StatusCode, parser.Reason.Of(buffer));
        var lengthWritten = false;
        foreach (ref readonly var field in parser.Fields)
        {
            switch (field.Known)
            {
                case KnownField.Upgrade when switches || parser.StatusCode == 426:
                    break;
                case KnownField.ContentLength:
                    if (lengthWritten)
                    {
                        continue;
                    }

                    lengthWritten = true;
                    break;
                default:
                    if (FieldRules.OfResponse(field.Known) != FieldRule.Pass || parser.IsHopByHop(buffer, field))
                    {
                        continue;
                    }

                    break;
            }

            writer.AddField(field.Name(buffer), field.Value(buffer));
        }
    }
}
