using Tunnel2.Http1.Syntax;

namespace Tunnel2.Http1;

/// <summary>
/// Reads the head of a response. It is strict where two readers could see different messages, and lenient where real servers are inexact
/// and this does no harm; see the README. A 1xx response other than 101 is a message of its own: reset and continue after it.
/// Reusable after <see cref="Reset"/>, not thread-safe.
/// </summary>
internal sealed class ResponseHeadParser : MessageHeadParser
{
    private const byte Cr = (byte)'\r';
    private const byte Lf = (byte)'\n';

    // HTTP/1.1 200
    private const int StatusPartBytes = 12;

    private KnownMethod _requestMethod;
    private bool _inReason;

    /// <summary>Makes a parser with <see cref="Http1Limits.Default"/>. Call <see cref="Reset"/> before the first response.</summary>
    public ResponseHeadParser()
        : this(Http1Limits.Default)
    {
    }

    /// <summary>Makes a parser with other limits.</summary>
    public ResponseHeadParser(Http1Limits limits)
        : base(limits)
    {
    }

    /// <summary>The status code, 100 to 999.</summary>
    public int StatusCode { get; private set; }

    /// <summary>The position of the reason phrase; may be empty.</summary>
    public ByteRange Reason { get; private set; }

    /// <summary>Whether this is an interim response (1xx other than 101), after which another one follows.</summary>
    public bool IsInterim => StatusCode is >= 100 and < 200 and not 101;

    /// <inheritdoc/>
    protected override Http1Error OnMalformedConnection => Http1Error.None;

    /// <summary>Prepares for the next message.</summary>
    /// <param name="requestMethod">The method of the request: for HEAD and CONNECT it decides whether there is a body.</param>
    public void Reset(KnownMethod requestMethod)
    {
        ResetHead();
        _requestMethod = requestMethod;
        _inReason = false;
        StatusCode = 0;
        Reason = default;
    }

    /// <inheritdoc/>
    protected override ParseStatus ParseStartLine(ReadOnlySpan<byte> buffer, ref int position)
    {
        if (!_inReason)
        {
            ParseStatus status = ParseStatusPart(buffer, ref position);
            if (status != ParseStatus.Done)
            {
                return status;
            }
        }

        position = ByteScanner.EndOfFieldValue(buffer, position);
        if (position + 1 >= buffer.Length && (position >= buffer.Length || buffer[position] == Cr))
        {
            return ParseStatus.NeedMore;
        }

        if (buffer[position] != Cr || buffer[position + 1] != Lf)
        {
            return Fail(ErrorOfControl(buffer[position]), position);
        }

        int reasonStart = Math.Min(StatusPartBytes + 1, position);
        Reason = new ByteRange(reasonStart, position - reasonStart);
        position += 2;
        return ParseStatus.Done;
    }

    /// <inheritdoc/>
    protected override Http1Error OnContentLength(ReadOnlySpan<byte> value)
    {
        if (ContentLength is null && ContentLengthSyntax.TryParse(value, out long only))
        {
            ContentLength = only;
            return Http1Error.None;
        }

        // A list of equal values comes from a careless join of equal fields (RFC 9112 section 6.3): one value is kept.
        var list = new ListReader(value);
        bool isRepetition = ContentLength is not null;
        while (list.TryRead(out ReadOnlySpan<byte> element))
        {
            if (!ContentLengthSyntax.TryParse(element, out long length))
            {
                return Http1Error.InvalidContentLength;
            }

            if (ContentLength is not null && ContentLength != length)
            {
                return Http1Error.ConflictingContentLength;
            }

            ContentLength = length;
            if (element.Length != value.Length && !isRepetition)
            {
                ShortenLastField(element.Length);
                isRepetition = true;
                value = element;
            }
        }

        return Http1Error.None;
    }

    /// <inheritdoc/>
    protected override Http1Error OnField(ReadOnlySpan<byte> buffer, in FieldRange field)
    {
        if (IsTunnel && field.Known is (KnownField.ContentLength or KnownField.TransferEncoding))
        {
            // RFC 9110 section 9.3.6: they mean nothing there, and a client has to ignore them.
            return Http1Error.None;
        }

        bool isRepetition = field.Known == KnownField.ContentLength && ContentLength is not null;
        Http1Error error = base.OnField(buffer, in field);
        if (isRepetition && error == Http1Error.None)
        {
            RemoveLastField();
        }

        return error;
    }

    /// <inheritdoc/>
    protected override Http1Error OnEnd(ReadOnlySpan<byte> buffer)
    {
        bool announcesBody = IsChunked || ContentLength > 0;
        if (StatusCode < 200 && announcesBody)
        {
            return Http1Error.BodyOfInformationalResponse;
        }

        KeepAlive = IsPersistent && StatusCode != 101;
        if (IsTunnel)
        {
            KeepAlive = false;
        }
        else if (_requestMethod == KnownMethod.Head || StatusCode is < 200 or 304)
        {
            // No body follows, although one may be announced.
        }
        else if (StatusCode == 204)
        {
            // No body follows here either. But a server that announces one may send it, and its bytes would be taken for the next response.
            KeepAlive &= !announcesBody;
        }
        else if (IsChunked)
        {
            BodyKind = BodyKind.Chunked;
        }
        else if (ContentLength is null)
        {
            BodyKind = BodyKind.UntilClose;
            KeepAlive = false;
        }
        else if (ContentLength > 0)
        {
            BodyKind = BodyKind.Length;
        }

        return Http1Error.None;
    }

    /// <summary>Whether what follows is not HTTP any more.</summary>
    private bool IsTunnel => _requestMethod == KnownMethod.Connect && StatusCode is >= 200 and < 300;

    private ParseStatus ParseStatusPart(ReadOnlySpan<byte> buffer, ref int position)
    {
        if (!IsStatusPart(buffer))
        {
            Http1Error error = ErrorInStatusPart(buffer, out int offset);
            return error == Http1Error.None ? ParseStatus.NeedMore : Fail(error, offset);
        }

        // RFC 9110 section 2.5: a higher minor version is read as the highest known one.
        Version = buffer[7] == (byte)'0' ? Http1Version.Http10 : Http1Version.Http11;
        StatusCode = ((buffer[9] - '0') * 100) + ((buffer[10] - '0') * 10) + (buffer[11] - '0');
        position = StatusPartBytes;
        _inReason = true;
        return ParseStatus.Done;
    }

    // After the code comes a space and a reason, or (wrong, but common) the end of the line.
    private static bool IsStatusPart(ReadOnlySpan<byte> buffer) => buffer.Length > StatusPartBytes
        && buffer.StartsWith("HTTP/1."u8)
        && char.IsAsciiDigit((char)buffer[7])
        && buffer[8] == (byte)' '
        && buffer[9] is >= (byte)'1' and <= (byte)'9'
        && char.IsAsciiDigit((char)buffer[10])
        && char.IsAsciiDigit((char)buffer[11])
        && buffer[StatusPartBytes] is ((byte)' ' or Cr);

    // The first byte that does not fit decides, so the result does not depend on how the bytes were split.
    private static Http1Error ErrorInStatusPart(ReadOnlySpan<byte> buffer, out int offset)
    {
        ReadOnlySpan<byte> pattern = "HTTP/0.0 000"u8;
        int known = Math.Min(buffer.Length, pattern.Length);
        for (offset = 0; offset < known; offset++)
        {
            bool fits = pattern[offset] == (byte)'0' ? char.IsAsciiDigit((char)buffer[offset]) : buffer[offset] == pattern[offset];
            if (!fits)
            {
                return offset >= 9 ? Http1Error.InvalidStatusCode : Http1Error.InvalidStatusLine;
            }
        }

        if (buffer.Length <= StatusPartBytes)
        {
            return Http1Error.None;
        }

        if (buffer[5] != (byte)'1')
        {
            offset = 5;
            return Http1Error.UnsupportedVersion;
        }

        if (buffer[9] == (byte)'0')
        {
            offset = 9;
            return Http1Error.InvalidStatusCode;
        }

        return char.IsAsciiDigit((char)buffer[StatusPartBytes]) ? Http1Error.InvalidStatusCode : Http1Error.InvalidStatusLine;
    }
}
