using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Http1;
using Tunnel2.Http2.Hpack;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// Writes the header block of a request, and that of its trailers, for a service that speaks HTTP/2 (RFC 9113 section 8.3.1). Each part is
/// checked, as for HTTP/1.1. Immutable.
/// </summary>
internal sealed class Http2RequestEncoder
{
    private readonly TargetMapping _targets;
    private readonly byte[]? _host;
    private readonly int _scheme;

    /// <param name="target">The service.</param>
    /// <param name="hostHeader">Which Host it sees.</param>
    /// <param name="stripped">Bytes that are taken off the beginning of each path.</param>
    public Http2RequestEncoder(BackendTarget target, HostHeaderPolicy hostHeader, int stripped = 0)
    {
        _targets = new TargetMapping(target, stripped);
        _host = hostHeader.ValueFor(target) is { } host ? Encoding.ASCII.GetBytes(host) : null;
        _scheme = target.IsHttps ? HpackStaticTable.SchemeHttps : HpackStaticTable.SchemeHttp;
    }

    /// <summary>Writes the head.</summary>
    /// <param name="block">The request block.</param>
    /// <param name="isConnect">Whether it opens a WebSocket (RFC 8441 section 4).</param>
    /// <param name="destination">Where to.</param>
    /// <param name="written">Bytes written.</param>
    public HeadWriteStatus Write(scoped in HeaderBlock block, bool isConnect, Span<byte> destination, out int written)
    {
        written = 0;
        if (!FieldSyntax.IsToken(block.Method) || !FieldSyntax.IsTarget(block.Target))
        {
            return HeadWriteStatus.InvalidSyntax;
        }

        var writer = new HpackWriter(destination);
        writer.WriteNoTable();
        WriteMethod(ref writer, isConnect ? "CONNECT"u8 : block.Method);
        writer.WriteIndexed(_scheme);
        writer.WriteField(HpackStaticTable.Path, _targets.Map(block.Target));
        writer.WriteField(HpackStaticTable.Authority, _host ?? HostOf(block));
        if (isConnect)
        {
            writer.WriteField(":protocol"u8, "websocket"u8);
        }

        var hasLength = false;
        foreach (var field in block.Fields)
        {
            var known = KnownFields.Classify(field.Name);
            if (!Passes(known, field.Value, isConnect) || (known == KnownField.ContentLength && hasLength))
            {
                continue;
            }

            hasLength |= known == KnownField.ContentLength;

            if (!FieldSyntax.IsToken(field.Name) || !FieldSyntax.IsFieldValue(field.Value))
            {
                return HeadWriteStatus.InvalidSyntax;
            }

            writer.WriteField(field.Name, field.Value.Trim(" \t"u8), known is KnownField.Authorization or KnownField.Cookie);
        }

        written = writer.Written;
        return writer.Overflowed ? HeadWriteStatus.DestinationTooSmall : HeadWriteStatus.Ok;
    }

    /// <summary>Writes the trailers that pass.</summary>
    /// <param name="block">The block of trailers.</param>
    /// <param name="destination">Where to; as large as the block and one byte for each field is enough.</param>
    /// <param name="written">Bytes written.</param>
    /// <returns>Invalid syntax also for a trailer that could be taken for a field that frames or routes the request.</returns>
    public static HeadWriteStatus WriteTrailers(scoped in HeaderBlock block, Span<byte> destination, out int written)
    {
        written = 0;
        var writer = new HpackWriter(destination);
        writer.WriteNoTable();
        foreach (var field in block.Fields)
        {
            switch (FieldRules.OfTrailer(KnownFields.Classify(field.Name), field.Name))
            {
                case FieldRule.Refuse:
                    return HeadWriteStatus.InvalidSyntax;
                case FieldRule.Pass:
                    if (!FieldSyntax.IsToken(field.Name) || !FieldSyntax.IsFieldValue(field.Value))
                    {
                        return HeadWriteStatus.InvalidSyntax;
                    }

                    writer.WriteField(field.Name, field.Value.Trim(" \t"u8));
                    break;
                default:
                    break;
            }
        }

        written = writer.Written;
        return writer.Overflowed ? HeadWriteStatus.DestinationTooSmall : HeadWriteStatus.Ok;
    }

    private static bool Passes(KnownField known, ReadOnlySpan<byte> value, bool isConnect) => known switch
    {
        // It is the authority now.
        KnownField.Host => false,
        KnownField.Te => Ascii.EqualsIgnoreCase(value, TeSyntax.Trailers),
        KnownField.ContentLength => !isConnect,
        KnownField.SecWebSocketKey or KnownField.SecWebSocketAccept => !isConnect,
        _ => FieldRules.OfHttp2Request(known) is not (FieldRule.Drop or FieldRule.Refuse or FieldRule.Protocols),
    };

    private static void WriteMethod(ref HpackWriter writer, ReadOnlySpan<byte> method)
    {
        if (method.SequenceEqual("GET"u8))
        {
            writer.WriteIndexed(HpackStaticTable.MethodGet);
        }
        else if (method.SequenceEqual("POST"u8))
        {
            writer.WriteIndexed(HpackStaticTable.MethodPost);
        }
        else
        {
            writer.WriteField(HpackStaticTable.MethodGet, method);
        }
    }

    /// <summary>The visitor's host; the plan has checked it.</summary>
    private static ReadOnlySpan<byte> HostOf(scoped in HeaderBlock block)
    {
        foreach (var field in block.Fields)
        {
            if (KnownFields.Classify(field.Name) == KnownField.Host)
            {
                return field.Value;
            }
        }

        return block.Authority;
    }
}
