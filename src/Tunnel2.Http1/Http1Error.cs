namespace Tunnel2.Http1;

/// <summary>Why a message was refused: one value per rule, so that logs and tests can distinguish them.</summary>
internal enum Http1Error : byte
{
    /// <summary>No error.</summary>
    None,

    /// <summary>The method is empty or has a byte that no token may have (RFC 9110 section 5.6.2).</summary>
    InvalidMethod,

    /// <summary>The method is longer than <see cref="Http1Limits.MaxMethodBytes"/>.</summary>
    MethodTooLong,

    /// <summary>CONNECT, which a reverse proxy does not serve.</summary>
    ConnectNotSupported,

    /// <summary>
    /// The request target is empty, has a byte outside visible ASCII, has a backslash in its path, or has a form that does not fit its
    /// method (RFC 9112 section 3.2).
    /// </summary>
    InvalidTarget,

    /// <summary>The request target has a fragment, which is never sent (RFC 9112 section 3.2).</summary>
    FragmentInTarget,

    /// <summary>The request line is longer than <see cref="Http1Limits.MaxRequestLineBytes"/>.</summary>
    RequestLineTooLong,

    /// <summary>The request line has extra whitespace, or bytes after its version.</summary>
    InvalidRequestLine,

    /// <summary>The version is missing (HTTP/0.9), or misspelled.</summary>
    InvalidVersion,

    /// <summary>The version is well formed but its major number is not 1.</summary>
    UnsupportedVersion,

    /// <summary>The status line does not begin with a version, a space and a status code.</summary>
    InvalidStatusLine,

    /// <summary>The status code is not three digits from 100 to 999.</summary>
    InvalidStatusCode,

    /// <summary>A carriage return that no line feed follows.</summary>
    BareCarriageReturn,

    /// <summary>A line feed that no carriage return precedes.</summary>
    BareLineFeed,

    /// <summary>A line that begins with a space or tab (obs-fold, RFC 9112 section 5.2).</summary>
    ObsoleteFolding,

    /// <summary>A field line without a colon.</summary>
    MissingColon,

    /// <summary>A space or tab between a field name and its colon (RFC 9112 section 5.1).</summary>
    WhitespaceBeforeColon,

    /// <summary>A field name that is empty or has a byte that no token may have.</summary>
    InvalidFieldName,

    /// <summary>
    /// <c>Content_Length</c> or <c>Transfer_Encoding</c> in a request: a legal name that CGI-like backends read as the one with a hyphen.
    /// </summary>
    AmbiguousFieldName,

    /// <summary>A control character in a field value or reason phrase.</summary>
    ControlCharacter,

    /// <summary>The head (or the trailer section) is longer than <see cref="Http1Limits.MaxHeadBytes"/>.</summary>
    HeadTooLarge,

    /// <summary>More fields than <see cref="Http1Limits.MaxFields"/>.</summary>
    TooManyFields,

    /// <summary>A Content-Length that is not only decimal digits, is too large, or (in a request) has superfluous leading zeros.</summary>
    InvalidContentLength,

    /// <summary>A second Content-Length in a request, with any value.</summary>
    DuplicateContentLength,

    /// <summary>Content-Length values of a response that differ.</summary>
    ConflictingContentLength,

    /// <summary>Both Content-Length and Transfer-Encoding (RFC 9112 section 6.3).</summary>
    ContentLengthWithTransferEncoding,

    /// <summary>A Transfer-Encoding that is malformed or repeated, or has chunked in another place than once at its end.</summary>
    InvalidTransferEncoding,

    /// <summary>A transfer coding other than chunked.</summary>
    UnsupportedTransferCoding,

    /// <summary>Transfer-Encoding in an HTTP/1.0 message (RFC 9112 section 6.1).</summary>
    TransferEncodingInHttp10,

    /// <summary>An HTTP/1.1 request without Host (RFC 9112 section 3.2).</summary>
    MissingHost,

    /// <summary>More than one Host.</summary>
    DuplicateHost,

    /// <summary>A Host that is empty or is not a host name or address with an optional port.</summary>
    InvalidHost,

    /// <summary>An absolute-form target whose authority differs from Host.</summary>
    HostDiffersFromTarget,

    /// <summary>A Connection field of a request that is not a list of tokens, or one with too many options.</summary>
    InvalidConnection,

    /// <summary>TRACE with a body (RFC 9110 section 9.3.8).</summary>
    TraceWithBody,

    /// <summary>A 1xx response that announces a body.</summary>
    BodyOfInformationalResponse,

    /// <summary>A chunk size without a hexadecimal digit, or with other characters among them.</summary>
    InvalidChunkSize,

    /// <summary>A chunk size that does not fit 63 bits, or has more than 16 digits.</summary>
    ChunkSizeOverflow,

    /// <summary>A chunk extension that does not follow RFC 9112 section 7.1.1.</summary>
    InvalidChunkExtension,

    /// <summary>A chunk header longer than <see cref="Http1Limits.MaxChunkHeaderBytes"/>.</summary>
    ChunkHeaderTooLong,

    /// <summary>Chunk data that is not followed by CR LF.</summary>
    InvalidChunkEnd,

    /// <summary>A trailer field that would change framing or routing (RFC 9110 section 6.5.1).</summary>
    ForbiddenTrailer,

    /// <summary>The head did not arrive in time. Parsers have no clock: a server that reads with a time limit reports this.</summary>
    RequestTimeout,

    /// <summary>The body is larger than allowed. Parsers have no limit of bodies: a server that has one reports this.</summary>
    BodyTooLarge,
}
