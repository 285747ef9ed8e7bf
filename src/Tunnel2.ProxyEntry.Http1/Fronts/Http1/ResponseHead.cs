using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>How a response's body is framed towards the visitor (RFC 9112 section 6.3).</summary>
internal enum ResponseFraming
{
    /// <summary>No body.</summary>
    None,

    /// <summary>By its declared length.</summary>
    Length,

    /// <summary>By the chunked coding.</summary>
    Chunked,

    /// <summary>By the end of the connection.</summary>
    UntilClose,

    /// <summary>Raw bytes after a 101.</summary>
    Raw,
}

/// <summary>What the connection adds to a response's head.</summary>
/// <param name="framing">How the body is framed.</param>
/// <param name="connection">The lines about the connection, each with its CR LF; may be empty.</param>
/// <param name="date">The value of Date if the backend sent none.</param>
/// <param name="added">Further lines of ProxyEntry's own, each with its CR LF; may be empty.</param>
/// <param name="edits">What a policy does with the fields; null: nothing.</param>
internal readonly ref struct ResponseHead(
    ResponseFraming framing,
    ReadOnlySpan<byte> connection,
    ReadOnlySpan<byte> date,
    ReadOnlySpan<byte> added = default,
    FieldEdits? edits = null)
{
    private readonly FieldEdits? _edits = edits;
    private readonly ResponseFraming _framing = framing;
    private readonly ReadOnlySpan<byte> _connection = connection;
    private readonly ReadOnlySpan<byte> _date = date;
    private readonly ReadOnlySpan<byte> _added = added;

    /// <summary>Writes a head: the backend's fields in their order, then the connection's.</summary>
    /// <param name="block">The response block.</param>
    /// <param name="destination">The memory for it.</param>
    /// <param name="written">Bytes written.</param>
    public HeadWriteStatus Write(scoped in HeaderBlock block, Span<byte> destination, out int written)
    {
        var writer = new HeadWriter(destination);
        writer.WriteStatusLine(
            block.Status, FieldSyntax.IsFieldValue(block.ReasonPhrase) ? block.ReasonPhrase : ReasonPhrases.Of(block.Status));
        var switches = _framing == ResponseFraming.Raw;
        var hasDate = block.Status < StatusCodes.Status200OK;
        var hasLength = false;
        var namesProtocols = false;
        foreach (var field in block.Fields)
        {
            var known = KnownFields.Classify(field.Name);
            if (!FieldRules.PassesInResponse(known, block.Status, switches) || (known == KnownField.ContentLength && hasLength))
            {
                continue;
            }

            hasDate |= known == KnownField.Date;
            hasLength |= known == KnownField.ContentLength;
            namesProtocols |= known == KnownField.Upgrade;
            var value = field.Value;
            if (_edits is null || !_edits.Drops(known, field.Name, ref value))
            {
                writer.WriteField(field.Name, value);
            }
        }

        // What a policy takes away is in no head of the answer; what it adds is in the last one.
        var isInterim = block.Status < StatusCodes.Status200OK && !switches;
        for (var i = 0; i < (isInterim ? 0 : _edits?.Count ?? 0); i++)
        {
            if (_edits!.LineAt(i) is { } line)
            {
                writer.WriteField(line.NameBytes, line.ValueBytes);
            }
        }

        if (!hasDate)
        {
            // RFC 9110 section 6.6.1: a proxy may add Date to a response that has none.
            writer.WriteField("Date"u8, _date);
        }

        if (_framing == ResponseFraming.Chunked)
        {
            writer.WriteCheckedLines("Transfer-Encoding: chunked\r\n"u8);
        }

        writer.WriteCheckedLines(_added);
        if (namesProtocols && !switches)
        {
            // RFC 9110 section 7.8: who sends Upgrade lists it in Connection. One line, because not every client joins several.
            writer.WriteCheckedLines(_connection.IsEmpty ? "Connection: Upgrade\r\n"u8 : "Connection: Upgrade, "u8);
            writer.WriteCheckedLines(_connection.IsEmpty ? default : _connection["Connection: ".Length..]);
        }
        else
        {
            writer.WriteCheckedLines(_connection);
        }

        var status = writer.WriteEnd();
        written = writer.Written;
        return status;
    }
}
