using Tunnel2.Http1.Syntax;

namespace Tunnel2.Http1;

/// <summary>The common parts of requests' and responses' heads: framing, connection options, persistence.</summary>
internal abstract class MessageHeadParser : FieldSectionParser
{
    // A message has a handful of options. Looking for a field among them costs time for each, so hundreds of them are an attack.
    private const int MaxConnectionOptions = 32;

    // A limit of all elements in Connection, including close and empty ones, because they are checked for each field too.
    private const int MaxConnectionElements = 128;

    private int _otherOptions;
    private int _connectionElements;
    private ByteRange _upgrade;

    /// <summary>Sets the limits of all messages.</summary>
    protected MessageHeadParser(Http1Limits limits)
        : base(limits)
    {
    }

    /// <summary>The version of the message.</summary>
    public Http1Version Version { get; protected set; }

    /// <summary>The value of Content-Length in bytes; null if there is none.</summary>
    public long? ContentLength { get; protected set; }

    /// <summary>Whether Transfer-Encoding is chunked.</summary>
    public bool IsChunked { get; private set; }

    /// <summary>How the body is delimited. Valid when the head is done.</summary>
    public BodyKind BodyKind { get; protected set; }

    /// <summary>The options of all Connection fields.</summary>
    public ConnectionOptions Connection { get; private set; }

    /// <summary>Whether there is an Upgrade field.</summary>
    public bool HasUpgrade { get; private set; }

    /// <summary>The value of the last Upgrade field.</summary>
    public ByteRange Upgrade => _upgrade;

    /// <summary>
    /// Whether the message asks for another protocol (or, as a 101, confirms it): HTTP/1.1 with an Upgrade field that Connection names (RFC
    /// 9110 section 7.8).
    /// </summary>
    public bool IsUpgrade => HasUpgrade && Version == Http1Version.Http11 && (Connection & ConnectionOptions.Upgrade) != 0;

    /// <summary>
    /// Whether this message allows another one after it on the connection (RFC 9112 section 9.3). Valid when the head is done.
    /// </summary>
    public bool KeepAlive { get; protected set; }

    /// <summary>Whether Connection lists names of fields, apart from its own words. If not, no field has to be looked up in it.</summary>
    public bool ListsFields => (Connection & ConnectionOptions.Other) != 0;

    /// <summary>Whether a Connection field lists <paramref name="name"/>, so that the field of that name must not be forwarded.</summary>
    /// <param name="buffer">The buffer that was parsed.</param>
    /// <param name="name">A field name; compared case-insensitively.</param>
    public bool IsListedInConnection(ReadOnlySpan<byte> buffer, ReadOnlySpan<byte> name)
    {
        if (Connection == ConnectionOptions.None)
        {
            return false;
        }

        if (!ListsFields)
        {
            ConnectionOptions option = OptionOf(name);
            return option != ConnectionOptions.Other && (Connection & option) != 0;
        }

        foreach (ref readonly FieldRange field in Fields)
        {
            if (field.Known != KnownField.Connection)
            {
                continue;
            }

            var list = new ListReader(field.Value(buffer));
            while (list.TryRead(out ReadOnlySpan<byte> option))
            {
                if (System.Text.Ascii.EqualsIgnoreCase(option, name))
                {
                    return true;
                }
            }
        }

        return false;
    }

    /// <summary>
    /// Whether a proxy must not forward <paramref name="field"/>, because it is hop-by-hop by definition or because Connection lists it.
    /// Fields that frame or route the message (Host, Content-Length, Expect) cannot be made hop-by-hop: a sender that lists them wants them
    /// removed.
    /// </summary>
    public bool IsHopByHop(ReadOnlySpan<byte> buffer, in FieldRange field) => KnownFields.IsHopByHop(field.Known)
        || (ListsFields
            && !KnownFields.IsEvaluated(field.Known)
            && IsListedInConnection(buffer, field.Name(buffer)));

    /// <summary>Prepares for the next message.</summary>
    protected void ResetHead()
    {
        ResetSection(hasStartLine: true);
        Version = Http1Version.None;
        ContentLength = null;
        IsChunked = false;
        BodyKind = BodyKind.None;
        Connection = ConnectionOptions.None;
        HasUpgrade = false;
        _upgrade = default;
        KeepAlive = false;
        _otherOptions = 0;
        _connectionElements = 0;
    }

    /// <inheritdoc/>
    protected override Http1Error OnField(ReadOnlySpan<byte> buffer, in FieldRange field)
    {
        switch (field.Known)
        {
            case KnownField.ContentLength:
                return IsChunked ? Http1Error.ContentLengthWithTransferEncoding : OnContentLength(field.Value(buffer));
            case KnownField.TransferEncoding:
                return OnTransferEncoding(field.Value(buffer));
            case KnownField.Connection:
                return OnConnection(field.Value(buffer));
            case KnownField.Upgrade:
                HasUpgrade = true;
                _upgrade = new ByteRange(field.ValueOffset, field.ValueLength);
                return Http1Error.None;
            default:
                return Http1Error.None;
        }
    }

    /// <summary>Evaluates a Content-Length; requests and responses tolerate different values.</summary>
    protected abstract Http1Error OnContentLength(ReadOnlySpan<byte> value);

    /// <summary>The error for a Connection option that is not a token; None if it is ignored.</summary>
    protected abstract Http1Error OnMalformedConnection { get; }

    /// <summary>RFC 9112 section 9.3, without the rules for the body.</summary>
    protected bool IsPersistent => (Connection & ConnectionOptions.Close) == 0
        && (Version == Http1Version.Http11 || (Connection & ConnectionOptions.KeepAlive) != 0);

    private Http1Error OnTransferEncoding(ReadOnlySpan<byte> value)
    {
        if (Version == Http1Version.Http10)
        {
            return Http1Error.TransferEncodingInHttp10;
        }

        if (ContentLength is not null)
        {
            return Http1Error.ContentLengthWithTransferEncoding;
        }

        // A second field continues the first one's list, and chunked must be its end.
        Http1Error error = IsChunked ? Http1Error.InvalidTransferEncoding : TransferEncodingSyntax.Check(value);
        IsChunked = true;
        return error;
    }

    private Http1Error OnConnection(ReadOnlySpan<byte> value)
    {
        // Nearly always there is one option without a comma.
        ConnectionOptions single = OptionOf(value);
        if (single != ConnectionOptions.Other)
        {
            Connection |= single;
            return ++_connectionElements > MaxConnectionElements ? Http1Error.InvalidConnection : Http1Error.None;
        }

        var list = new ListReader(value);
        while (list.TryRead(out ReadOnlySpan<byte> element))
        {
            if (++_connectionElements > MaxConnectionElements)
            {
                return Http1Error.InvalidConnection;
            }

            if (element.IsEmpty)
            {
                continue;
            }

            ConnectionOptions option = OptionOf(element);
            Connection |= option;
            if (option == ConnectionOptions.Other)
            {
                Http1Error error = ++_otherOptions > MaxConnectionOptions ? Http1Error.InvalidConnection
                    : FieldSyntax.IsToken(element) ? Http1Error.None
                    : OnMalformedConnection;
                if (error != Http1Error.None)
                {
                    return error;
                }
            }
        }

        return Http1Error.None;
    }

    private static ConnectionOptions OptionOf(ReadOnlySpan<byte> option) => option.Length switch
    {
        5 when AsciiCase.EqualsLower(option, "close"u8) => ConnectionOptions.Close,
        7 when AsciiCase.EqualsLower(option, "upgrade"u8) => ConnectionOptions.Upgrade,
        10 when AsciiCase.EqualsLower(option, "keep-alive"u8) => ConnectionOptions.KeepAlive,
        _ => ConnectionOptions.Other,
    };
}
