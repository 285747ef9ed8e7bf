namespace Tunnel2.ProxyEntry.Routing;

/// <summary>Host and target of a request, as its front has them: bytes of HTTP/1.1, or the text that HttpContext made of them.</summary>
internal readonly ref struct RequestAddress
{
    private readonly ReadOnlySpan<byte> _authorityBytes;
    private readonly ReadOnlySpan<byte> _targetBytes;
    private readonly ReadOnlySpan<char> _authorityText;
    private readonly ReadOnlySpan<char> _targetText;
    private readonly bool _isText;

    /// <param name="authority">Host or <c>:authority</c>.</param>
    /// <param name="target">Path and query.</param>
    public RequestAddress(ReadOnlySpan<byte> authority, ReadOnlySpan<byte> target)
    {
        _authorityBytes = authority;
        _targetBytes = target;
    }

    /// <param name="authority">Host or <c>:authority</c>; characters are bytes.</param>
    /// <param name="target">Path and query; characters are bytes.</param>
    public RequestAddress(string authority, string target)
    {
        _authorityText = authority;
        _targetText = target;
        _isText = true;
    }

    /// <summary>Whether no Host was given.</summary>
    public bool HasNoAuthority => _isText ? _authorityText.IsEmpty : _authorityBytes.IsEmpty;

    /// <summary>Finds the name in the Host.</summary>
    public HostAddressOutcome ParseHost(HostAddressParser parser, Span<char> nameBuffer, out int length) =>
        _isText ? parser.Parse(_authorityText, nameBuffer, out length) : parser.Parse(_authorityBytes, nameBuffer, out length);

    /// <summary>Reads a Host that is not below the server's own domain.</summary>
    public bool TryReadDomain(HostAddressParser parser, Span<char> buffer, out int length) => _isText
        ? parser.TryReadDomain(_authorityText, buffer, out length)
        : parser.TryReadDomain(_authorityBytes, buffer, out length);

    /// <summary>Finds the name in the target.</summary>
    public PathAddress ParsePath(PathAddressParser parser, Span<char> nameBuffer) =>
        _isText ? parser.Parse(_targetText, nameBuffer) : parser.Parse(_targetBytes, nameBuffer);
}
