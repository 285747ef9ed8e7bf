using System.Buffers;
using System.IO.Compression;

namespace Tunnel2.Inspection.Bodies;

/// <summary>How much of a coded body could be decoded.</summary>
internal enum DecodingState
{
    /// <summary>There is no coding.</summary>
    Plain,

    /// <summary>All that was there.</summary>
    Whole,

    /// <summary>The output has reached the limit: there is more.</summary>
    Cut,

    /// <summary>The input ended early or is malformed: what came out until then.</summary>
    Broken,

    /// <summary>A coding that is not known here.</summary>
    Unknown,
}

/// <summary>Decodes gzip, br and deflate, with a limit of the output: a body that unpacks to terabytes ends there.</summary>
internal static class ContentDecoder
{
    private const int MaxCodings = 4;

    /// <summary>
    /// What continues no stream: a block of such a kind there is not, and in another block it is data, or a check that fails.
    /// </summary>
    private static readonly byte[] _nothing = [.. Enumerable.Repeat((byte)0xFF, 64)];

    /// <summary>Decodes a body.</summary>
    /// <param name="body">The bytes.</param>
    /// <param name="codings">The values of Content-Encoding that code something.</param>
    /// <param name="limit">How many bytes come out at most.</param>
    /// <param name="state">How it went.</param>
    public static byte[] Decode(byte[] body, string codings, int limit, out DecodingState state)
    {
        state = DecodingState.Plain;
        var names = codings.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        if (names.Length > MaxCodings)
        {
            state = DecodingState.Unknown;
            return body;
        }

        // The last one was applied last.
        foreach (var name in Enumerable.Reverse(names))
        {
            var before = state;
            if (!TryDecode(body, name.ToLowerInvariant(), limit, out var output, out state))
            {
                state = DecodingState.Unknown;
                return body;
            }

            body = output;
            state = before is DecodingState.Cut or DecodingState.Broken ? before : state;
        }

        return body;
    }

    /// <summary>Decodes one message that permessage-deflate has compressed by itself; null where it needs those before it.</summary>
    public static byte[]? InflateMessage(byte[] message, int limit, out DecodingState state)
    {
        byte[] whole = [.. message, 0, 0, 0xFF, 0xFF];
        var output = Read(static input => new DeflateStream(input, CompressionMode.Decompress), whole, limit, out state);
        return state == DecodingState.Broken && output.Length == 0 ? null : output;
    }

    private static bool TryDecode(byte[] body, string name, int limit, out byte[] output, out DecodingState state)
    {
        state = DecodingState.Whole;
        output = [];
        switch (name)
        {
            case "gzip" or "x-gzip":
                output = ReadWhole(
                    static input => new GZipStream(input, CompressionMode.Decompress), body, limit, [0, 0, 0, 0, 0, 0, 0, 0], out state);
                return true;
            case "br":
                output = Read(static input => new BrotliStream(input, CompressionMode.Decompress), body, limit, out state);
                state = state != DecodingState.Cut && IsWholeBrotli(body) ? DecodingState.Whole
                    : state == DecodingState.Whole ? DecodingState.Broken
                    : state;
                return true;
            case "deflate":
                output = ReadWhole(
                    static input => new ZLibStream(input, CompressionMode.Decompress), body, limit, [0, 0, 0, 1], out state);
                if (state == DecodingState.Broken && output.Length == 0)
                {
                    // Some servers leave the wrapper out that the word means.
                    output = ReadWhole(
                        static input => new DeflateStream(input, CompressionMode.Decompress), body, limit, [], out state);
                }

                return true;
            default:
                return false;
        }
    }

    /// <summary>
    /// Reads a stream of deflate, in any wrapper. The decoder ends in silence where its input does: a stream is whole where bytes after
    /// it change nothing. Where nothing came out, such bytes may belong to its beginning: then it is whole where it ends as an empty one.
    /// </summary>
    private static byte[] ReadWhole(
        Func<Stream, Stream> open, byte[] body, int limit, ReadOnlySpan<byte> checkOfNothing, out DecodingState state)
    {
        var output = Read(open, body, limit, out state);
        if (state == DecodingState.Whole && body.Length > 0
            && (output.Length == 0
                ? !IsNothing(body, checkOfNothing)
                : Read(open, [.. body, .. _nothing], limit, out var after).Length != output.Length || after != DecodingState.Whole))
        {
            state = DecodingState.Broken;
        }

        return output;
    }

    /// <summary>Whether a stream ends with an empty block, and the check of no bytes. Without a check it is empty blocks alone.</summary>
    private static bool IsNothing(ReadOnlySpan<byte> body, ReadOnlySpan<byte> check)
    {
        if (!check.IsEmpty)
        {
            return body.EndsWith(check) && body[..^check.Length] is [.., 3, 0] or [.., 0xFF, 0xFF];
        }

        while (body is [0, 0, 0, 0xFF, 0xFF, ..])
        {
            body = body[5..];
        }

        return body is [3, 0] or [1, 0, 0, 0xFF, 0xFF];
    }

    private static bool IsWholeBrotli(ReadOnlySpan<byte> body)
    {
        using var decoder = default(BrotliDecoder);
        Span<byte> output = stackalloc byte[4 * 1024];
        while (true)
        {
            var status = decoder.Decompress(body, output, out var read, out _);
            body = body[read..];
            if (status != OperationStatus.DestinationTooSmall)
            {
                return status == OperationStatus.Done;
            }
        }
    }

    private static byte[] Read(Func<Stream, Stream> open, byte[] body, int limit, out DecodingState state)
    {
        using var output = new MemoryStream();
        var buffer = new byte[8 * 1024];
        try
        {
            using var decoder = open(new MemoryStream(body, writable: false));
            while (true)
            {
                var count = decoder.Read(buffer, 0, buffer.Length);
                if (count == 0)
                {
                    state = DecodingState.Whole;
                    return output.ToArray();
                }

                var taken = (int)Math.Min(count, limit - output.Length);
                output.Write(buffer, 0, taken);
                if (taken < count)
                {
                    state = DecodingState.Cut;
                    return output.ToArray();
                }
            }
        }
        catch (Exception exception) when (exception is InvalidDataException or InvalidOperationException or IOException)
        {
            state = DecodingState.Broken;
            return output.ToArray();
        }
    }
}
