using System.Globalization;
using Tunnel2.Http1;
using Tunnel2.Http2.Hpack;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.Http2;

/// <summary>
/// The header block of an interim response, compressed without any table: it neither depends on Kestrel's blocks nor changes what they
/// depend on. Disposing gives its buffer back.
/// </summary>
internal readonly ref struct InterimBlock
{
    /// <summary>For <c>:status</c>, and for each field more than its own bytes.</summary>
    private const int Extra = 16;

    private readonly byte[]? _buffer;
    private readonly int _length;

    private InterimBlock(byte[] buffer, int length)
    {
        _buffer = buffer;
        _length = length;
    }

    /// <summary>The block; empty when the head cannot be one of HTTP/2.</summary>
    public ReadOnlySpan<byte> Bytes => _buffer.AsSpan(0, _length);

    /// <summary>Encodes the fields that may pass.</summary>
    /// <param name="head">The head.</param>
    /// <param name="edits">What a policy does with the fields; what it adds is in the last head of an answer. Null: nothing.</param>
    public static InterimBlock Encode(scoped in HeaderBlock head, FieldEdits? edits)
    {
        var size = Extra;
        foreach (var field in head.Fields)
        {
            if (!FieldSyntax.IsToken(field.Name) || !FieldSyntax.IsFieldValue(field.Value))
            {
                return default;
            }

            size += field.Name.Length + field.Value.Length + Extra;
        }

        var buffer = BufferPool.Shared.Rent(size);
        var writer = new HpackWriter(buffer);
        Span<byte> status = stackalloc byte[3];
        head.Status.TryFormat(status, out _, default, CultureInfo.InvariantCulture);
        writer.WriteField(":status"u8, status);
        foreach (var field in head.Fields)
        {
            var known = KnownFields.Classify(field.Name);
            if (FieldRules.PassesInHttp2Response(known, head.Status) && edits?.Drops(field.Name) != true)
            {
                writer.WriteField(field.Name, field.Value.Trim(" \t"u8), known == KnownField.SetCookie);
            }
        }

        return new InterimBlock(buffer, writer.Overflowed ? 0 : writer.Written);
    }

    public void Dispose()
    {
        if (_buffer is not null)
        {
            BufferPool.Shared.Return(_buffer);
        }
    }
}
