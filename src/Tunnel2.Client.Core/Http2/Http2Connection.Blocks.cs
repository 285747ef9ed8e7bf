using Tunnel2.Client.Core.Backend;
using Tunnel2.Http1;
using Tunnel2.Http1.Syntax;
using Tunnel2.Http2;
using Tunnel2.Http2.Frames;
using Tunnel2.Http2.Hpack;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Http2;

/// <content>Header blocks of the service: decompressed, checked and kept as blocks of the uplink.</content>
internal sealed partial class Http2Connection
{
    private readonly HpackDecoder _decoder = new();

    private enum BlockState
    {
        /// <summary>It can be kept.</summary>
        Good,

        /// <summary>It breaks HTTP.</summary>
        Malformed,

        /// <summary>It has no room in a block of the uplink.</summary>
        TooLarge,
    }

    private Http2ErrorCode OnBlockUnsynchronized(int id, ReadOnlySpan<byte> compressed)
    {
        if (!_streams.TryGetValue(id, out var stream) || !stream.CanReceive)
        {
            // Read all the same: the compression of the next blocks depends on it. A second end is dropped: a service of gRPC for C and
            // Python sends one where a call is cancelled just when its answer ends. The other calls of the connection have no part in it.
            return !TrySkip(compressed) ? Http2ErrorCode.CompressionError
                : !_blockEnds && (stream is { RemoteEnded: true } || (stream is null && !WasResetUnsynchronized(id)))
                ? Http2ErrorCode.StreamClosed
                : Tolerate();
        }

        var buffer = _buffers.Rent(ProtocolLimits.MaxHeaderBlockLength);
        try
        {
            var writer = new HeaderBlockWriter(buffer);
            if (!TryDecode(stream, compressed, ref writer, out var state, out var status))
            {
                return Http2ErrorCode.CompressionError;
            }

            var length = writer.Complete();
            state = state != BlockState.Good ? state
                : writer.Overflowed || writer.HasTooManyFields ? BlockState.TooLarge
                : Judge(stream, status);
            if (state != BlockState.Good)
            {
                ResetUnsynchronized(
                    stream,
                    state == BlockState.TooLarge ? Http2ErrorCode.EnhanceYourCalm : Http2ErrorCode.ProtocolError,
                    state == BlockState.TooLarge ? Http2FailureKind.TooLarge : Http2FailureKind.Malformed);
                return Http2ErrorCode.NoError;
            }

            Keep(stream, status, buffer.AsSpan(0, length));
            return Http2ErrorCode.NoError;
        }
        finally
        {
            _buffers.Return(buffer);
        }
    }

    private void Keep(Http2Stream stream, int status, ReadOnlySpan<byte> block)
    {
        if (status is >= 100 and < 200 && ++stream.Interim > InterimLimits.PassedOn)
        {
            return;
        }

        if (stream.HasFinalHead && stream.BodyLeft > 0)
        {
            // Trailers end the stream, and would be an end in order for those who read it.
            EndUnsynchronized(stream);
            WakeReaderUnsynchronized(stream);
            return;
        }

        stream.Inbox.AppendBlock(stream.HasFinalHead ? Http2ItemKind.Trailers : Http2ItemKind.Head, block);
        if (status is not (>= 100 and < 200))
        {
            if (!stream.HasFinalHead && (stream.IsHead || status is 204 or 304))
            {
                // What is declared is not sent (RFC 9110 section 8.6).
                stream.BodyLeft = 0;
            }

            stream.HasFinalHead = true;
        }

        if (_blockEnds)
        {
            EndUnsynchronized(stream);
        }

        WakeReaderUnsynchronized(stream);
    }

    /// <summary>Whether a block may come now.</summary>
    private BlockState Judge(Http2Stream stream, int status)
    {
        if (stream.HasFinalHead)
        {
            // RFC 9113 section 8.1: what follows the body ends the stream.
            return _blockEnds ? BlockState.Good : BlockState.Malformed;
        }

        return status is not (>= 100 and < 200) ? BlockState.Good
            : _blockEnds || status == 101 || stream.Interim >= InterimLimits.Taken ? BlockState.Malformed
            : BlockState.Good;
    }

    private bool TrySkip(ReadOnlySpan<byte> compressed)
    {
        _decoder.Begin(compressed.Length);
        HpackStatus status;
        do
        {
            status = _decoder.TryRead(ref compressed, out _, out _);
        }
        while (status == HpackStatus.Field);
        return status == HpackStatus.End;
    }

    /// <summary>Reads a block to its end; fields that break a rule, or have no room, are the stream's fault only.</summary>
    /// <returns>False when the compression is broken, and the connection with it.</returns>
    private bool TryDecode(
        Http2Stream stream, ReadOnlySpan<byte> compressed, ref HeaderBlockWriter writer, out BlockState state, out int status)
    {
        var isTrailers = stream.HasFinalHead;
        state = BlockState.Good;
        status = 0;
        if (isTrailers)
        {
            writer.BeginTrailers();
        }

        _decoder.Begin(compressed.Length);
        while (true)
        {
            var read = _decoder.TryRead(ref compressed, out var name, out var value);
            if (read != HpackStatus.Field)
            {
                state = state == BlockState.Good && !isTrailers && status == 0 ? BlockState.Malformed : state;
                return read == HpackStatus.End;
            }

            if (state != BlockState.Good || writer.Overflowed || writer.HasTooManyFields)
            {
                continue;
            }

            if (name is [(byte)':', ..])
            {
                // RFC 9113 section 8.3: exactly one in a response, before all fields, and none in trailers.
                if (isTrailers || status != 0 || !name.SequenceEqual(":status"u8) || !TryReadStatus(value, out status))
                {
                    state = BlockState.Malformed;
                    continue;
                }

                writer.BeginResponse(HeaderBlockFlags.None, status, default);
            }
            else if (!isTrailers && status == 0)
            {
                state = BlockState.Malformed;
            }
            else
            {
                state = isTrailers ? AddTrailer(ref writer, name, value) : AddField(stream, ref writer, name, value, status);
            }
        }
    }

    private static BlockState AddTrailer(ref HeaderBlockWriter writer, ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        var rule = FieldRules.OfHttp2Trailer(KnownFields.Classify(name), name);
        if (rule == FieldRule.Refuse || !Http2FieldSyntax.IsName(name) || !Http2FieldSyntax.IsValue(value))
        {
            return BlockState.Malformed;
        }

        if (rule == FieldRule.Pass)
        {
            writer.AddField(name, value);
        }

        return BlockState.Good;
    }

    private static BlockState AddField(
        Http2Stream stream, ref HeaderBlockWriter writer, ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int status)
    {
        var known = KnownFields.Classify(name);
        if (!Http2FieldSyntax.IsName(name)
            || !Http2FieldSyntax.IsValue(value)
            || (known != KnownField.FramingLookalike && FieldRules.OfHttp2Request(known) == FieldRule.Refuse))
        {
            // RFC 9113 sections 8.2.1 and 8.2.2: upper case, or a field of a connection of HTTP/1.1.
            return BlockState.Malformed;
        }

        var rule = FieldRules.OfResponse(known);
        if (rule == FieldRule.Length && status >= 200)
        {
            if (!ContentLengthSyntax.TryParse(value, out var length) || (stream.BodyLeft >= 0 && stream.BodyLeft != length))
            {
                return BlockState.Malformed;
            }

            if (stream.BodyLeft < 0)
            {
                stream.BodyLeft = length;
                writer.AddField(name, value);
            }
        }
        else if (rule == FieldRule.Pass)
        {
            writer.AddField(name, value);
        }

        return BlockState.Good;
    }

    private static bool TryReadStatus(ReadOnlySpan<byte> value, out int status)
    {
        status = 0;
        if (value.Length != 3 || value.ContainsAnyExceptInRange((byte)'0', (byte)'9') || value[0] == (byte)'0')
        {
            return false;
        }

        status = ((value[0] - '0') * 100) + ((value[1] - '0') * 10) + value[2] - '0';
        return true;
    }
}
