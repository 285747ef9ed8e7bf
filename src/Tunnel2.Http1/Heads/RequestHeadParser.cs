using System.Buffers.Binary;
using Tunnel2.Http1.Syntax;

namespace Tunnel2.Http1;

/// <summary>
/// Reads the head of a request. A request with two possible readings is refused; the README has the list of decisions.
/// Reusable after <see cref="Reset"/>, not thread-safe.
/// </summary>
internal sealed class RequestHeadParser : MessageHeadParser
{
    private const byte Cr = (byte)'\r';
    private const byte Lf = (byte)'\n';

    // The bytes after the target: a space and HTTP/1.1.
    private const int VersionPartBytes = 9;

    private Step _step;
    private int _lineStart;
    private int _targetStart;
    private ByteRange _authority;

    /// <summary>Makes a parser with <see cref="Http1Limits.Default"/>.</summary>
    public RequestHeadParser()
        : this(Http1Limits.Default)
    {
    }

    /// <summary>Makes a parser with other limits.</summary>
    public RequestHeadParser(Http1Limits limits)
        : base(limits)
    {
    }

    private enum Step : byte
    {
        EmptyLine,
        Method,
        Target,
        Version,
    }

    /// <summary>The position of the method.</summary>
    public ByteRange Method { get; private set; }

    /// <summary>The known method, if its meaning matters to a proxy.</summary>
    public KnownMethod KnownMethod { get; private set; }

    /// <summary>The position of the whole request target.</summary>
    public ByteRange Target { get; private set; }

    /// <summary>The form of the target.</summary>
    public TargetForm TargetForm { get; private set; }

    /// <summary>The authority of an absolute-form target (equal to <see cref="Host"/> if there is one); otherwise empty.</summary>
    public ByteRange TargetAuthority => _authority;

    /// <summary>
    /// Path and query. For an absolute-form target the part after the authority, which may be empty or begin with <c>?</c> (both mean the
    /// path <c>/</c>; of OPTIONS, an empty one means <c>*</c>); otherwise the whole target.
    /// </summary>
    public ByteRange PathAndQuery { get; private set; }

    /// <summary>Number of Host fields, 0 or 1; 0 only in HTTP/1.0.</summary>
    public int HostCount { get; private set; }

    /// <summary>The value of Host: a host name or address with an optional port, checked. Empty if <see cref="HostCount"/> is 0.</summary>
    public ByteRange Host { get; private set; }

    /// <summary>Whether the client waits for 100 (Continue) before it sends the body (RFC 9110 section 10.1.1).</summary>
    public bool ExpectContinue { get; private set; }

    /// <summary>Whether there is an expectation other than <c>100-continue</c>, which a server may answer with 417.</summary>
    public bool HasUnknownExpectation { get; private set; }

    /// <inheritdoc/>
    protected override Http1Error OnMalformedConnection => Http1Error.InvalidConnection;

    /// <summary>Prepares for the next message.</summary>
    public void Reset()
    {
        ResetHead();
        _step = Step.EmptyLine;
        Method = default;
        KnownMethod = KnownMethod.Other;
        Target = default;
        TargetForm = TargetForm.None;
        _authority = default;
        PathAndQuery = default;
        HostCount = 0;
        Host = default;
        ExpectContinue = false;
        HasUnknownExpectation = false;
    }

    /// <inheritdoc/>
    protected override ParseStatus ParseStartLine(ReadOnlySpan<byte> buffer, ref int position)
    {
        if (_step == Step.EmptyLine && !SkipEmptyLine(buffer, ref position, out ParseStatus status))
        {
            return status;
        }

        if (_step == Step.Method)
        {
            position = ByteScanner.EndOfToken(buffer, position);
            if (position - _lineStart > Limits.MaxMethodBytes)
            {
                return Fail(Http1Error.MethodTooLong, _lineStart + Limits.MaxMethodBytes);
            }

            if (position >= buffer.Length)
            {
                return ParseStatus.NeedMore;
            }

            if (buffer[position] != (byte)' ' || position == _lineStart)
            {
                return Fail(Http1Error.InvalidMethod, position);
            }

            Method = new ByteRange(_lineStart, position - _lineStart);
            KnownMethod = KnownMethods.Classify(Method.Of(buffer));
            _targetStart = ++position;
            _step = Step.Target;
        }

        if (_step == Step.Target)
        {
            position = ByteScanner.EndOfTarget(buffer, position, _targetStart);
            if (position - _lineStart + VersionPartBytes > Limits.MaxRequestLineBytes)
            {
                return Fail(Http1Error.RequestLineTooLong, _lineStart);
            }

            if (position >= buffer.Length)
            {
                return ParseStatus.NeedMore;
            }

            if (buffer[position] != (byte)' ' || position == _targetStart)
            {
                return Fail(ErrorInTarget(buffer[position], position == _targetStart), position);
            }

            Target = new ByteRange(_targetStart, position - _targetStart);
            position++;
            _step = Step.Version;
        }

        return ParseVersion(buffer, ref position);
    }

    /// <inheritdoc/>
    protected override Http1Error OnField(ReadOnlySpan<byte> buffer, in FieldRange field)
    {
        switch (field.Known)
        {
            case KnownField.Host:
                Host = new ByteRange(field.ValueOffset, field.ValueLength);
                return ++HostCount > 1 ? Http1Error.DuplicateHost
                    : AuthoritySyntax.IsHostAndPort(field.Value(buffer)) ? Http1Error.None
                    : Http1Error.InvalidHost;
            case KnownField.FramingLookalike:
                return Http1Error.AmbiguousFieldName;
            case KnownField.Expect:
                // HTTP/1.0 has no 1xx responses, so the expectation is ignored.
                bool isContinue = AsciiCase.EqualsLower(field.Value(buffer), "100-continue"u8);
                ExpectContinue |= isContinue && Version == Http1Version.Http11;
                HasUnknownExpectation |= !isContinue;
                return Http1Error.None;
            default:
                return base.OnField(buffer, in field);
        }
    }

    /// <inheritdoc/>
    protected override Http1Error OnContentLength(ReadOnlySpan<byte> value)
    {
        if (ContentLength is not null)
        {
            return Http1Error.DuplicateContentLength;
        }

        // A leading zero is legal, but a reader of octal numbers would see another length.
        if (!ContentLengthSyntax.TryParse(value, out long length) || (value.Length > 1 && value[0] == (byte)'0'))
        {
            return Http1Error.InvalidContentLength;
        }

        ContentLength = length;
        return Http1Error.None;
    }

    /// <inheritdoc/>
    protected override Http1Error OnEnd(ReadOnlySpan<byte> buffer)
    {
        if (HostCount == 0 && Version == Http1Version.Http11)
        {
            return Http1Error.MissingHost;
        }

        if (TargetForm == TargetForm.Absolute
            && HostCount != 0
            && !System.Text.Ascii.EqualsIgnoreCase(_authority.Of(buffer), Host.Of(buffer)))
        {
            return Http1Error.HostDiffersFromTarget;
        }

        BodyKind = IsChunked ? BodyKind.Chunked : ContentLength > 0 ? BodyKind.Length : BodyKind.None;
        KeepAlive = IsPersistent;
        return KnownMethod == KnownMethod.Trace && BodyKind != BodyKind.None ? Http1Error.TraceWithBody : Http1Error.None;
    }

    // RFC 9112 section 2.2: some clients send one CR LF before the request line, after a POST. More than one is an attack.
    private bool SkipEmptyLine(ReadOnlySpan<byte> buffer, ref int position, out ParseStatus status)
    {
        status = ParseStatus.NeedMore;
        if (buffer.IsEmpty)
        {
            return false;
        }

        if (buffer[0] == Cr)
        {
            if (buffer.Length < 2)
            {
                return false;
            }

            if (buffer[1] != Lf)
            {
                status = Fail(Http1Error.BareCarriageReturn, 0);
                return false;
            }

            position = 2;
        }

        _lineStart = position;
        _step = Step.Method;
        return true;
    }

    private ParseStatus ParseVersion(ReadOnlySpan<byte> buffer, ref int position)
    {
        ReadOnlySpan<byte> rest = buffer[position..];
        if (rest.Length >= 10 && rest.StartsWith("HTTP/1."u8) && BinaryPrimitives.ReadUInt16LittleEndian(rest[8..]) == (Cr | (Lf << 8)))
        {
            // RFC 9110 section 2.5: a higher minor version is read as the highest known one.
            Version = rest[7] switch
            {
                (byte)'0' => Http1Version.Http10,
                >= (byte)'1' and <= (byte)'9' => Http1Version.Http11,
                _ => Http1Version.None,
            };
        }

        if (Version == Http1Version.None)
        {
            Http1Error error = VersionSyntax.ErrorInRequest(rest, out int offset);
            return error == Http1Error.None ? ParseStatus.NeedMore : Fail(error, position + offset);
        }

        Http1Error targetError = CheckTarget(buffer);
        if (targetError != Http1Error.None)
        {
            return Fail(targetError, _targetStart);
        }

        position += 10;
        return ParseStatus.Done;
    }

    private Http1Error CheckTarget(ReadOnlySpan<byte> buffer)
    {
        if (KnownMethod == KnownMethod.Connect)
        {
            return Http1Error.ConnectNotSupported;
        }

        ReadOnlySpan<byte> target = Target.Of(buffer);
        PathAndQuery = Target;
        if (target[0] == (byte)'/')
        {
            TargetForm = TargetForm.Origin;
            return Http1Error.None;
        }

        if (target[0] == (byte)'*')
        {
            TargetForm = TargetForm.Asterisk;
            return target.Length == 1 && KnownMethod == KnownMethod.Options ? Http1Error.None : Http1Error.InvalidTarget;
        }

        TargetForm = TargetForm.Absolute;
        int scheme = StartsWith(target, "http://"u8) ? 7 : StartsWith(target, "https://"u8) ? 8 : 0;
        if (scheme == 0)
        {
            return Http1Error.InvalidTarget;
        }

        int length = target[scheme..].IndexOfAny((byte)'/', (byte)'?');
        length = length < 0 ? target.Length - scheme : length;
        _authority = new ByteRange(Target.Offset + scheme, length);
        PathAndQuery = new ByteRange(Target.Offset + scheme + length, target.Length - scheme - length);
        return AuthoritySyntax.IsHostAndPort(_authority.Of(buffer)) ? Http1Error.None : Http1Error.InvalidTarget;
    }

    private static bool StartsWith(ReadOnlySpan<byte> target, ReadOnlySpan<byte> lower) =>
        target.Length >= lower.Length && AsciiCase.EqualsLower(target[..lower.Length], lower);

    private static Http1Error ErrorInTarget(byte found, bool isFirst) => found switch
    {
        (byte)'#' => Http1Error.FragmentInTarget,
        (byte)' ' => Http1Error.InvalidRequestLine,
        Cr when !isFirst => Http1Error.InvalidVersion,
        Lf => Http1Error.BareLineFeed,
        _ => Http1Error.InvalidTarget,
    };
}
