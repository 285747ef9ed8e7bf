using System.Buffers;
using System.Text;
using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Routing;

/// <summary>
/// Finds the public name in a Host or <c>:authority</c> value (RFC 9110 section 7.2): <c>{name}.{Domain}</c> or
/// <c>{name}-{EntryId}.{Domain}</c>, with any port, in any case, with or without the dot of the root. Never throws, never allocates.
/// Immutable, so safe for any number of threads.
/// </summary>
internal sealed class HostAddressParser
{
    // 253 characters of DNS name, the root's dot, and a port.
    private const int MaxHostLength = 253 + 1 + 6;

    // RFC 3986 section 3.2.2, reg-name: unreserved, sub-delims and the percent sign.
    private static readonly SearchValues<char> _hostCharacters =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=%");

    private static readonly SearchValues<char> _domainCharacters =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.");

    private static readonly SearchValues<char> _ipv6Characters = SearchValues.Create("0123456789abcdefABCDEF:.");

    private readonly string _domain;
    private readonly string _entryId;

    /// <param name="domain">In lower case, without dots at its ends.</param>
    /// <param name="entryId">In lower case.</param>
    public HostAddressParser(string domain, string entryId)
    {
        _domain = domain;
        _entryId = entryId;
    }

    /// <summary>Parses a host.</summary>
    /// <param name="host">The value of Host or <c>:authority</c>.</param>
    /// <param name="nameBuffer">Receives the name in lower case; at least <see cref="PublicName.MaxLength"/> long.</param>
    /// <param name="nameLength">How much of the buffer is the name; 0 unless the outcome is <see cref="HostAddressOutcome.Name"/>.</param>
    public HostAddressOutcome Parse(ReadOnlySpan<char> host, Span<char> nameBuffer, out int nameLength)
    {
        nameLength = 0;
        if (host.Length > MaxHostLength)
        {
            return HostAddressOutcome.Invalid;
        }

        if (host.StartsWith('['))
        {
            return ParseIPv6Literal(host);
        }

        var colon = host.IndexOf(':');
        if (colon >= 0)
        {
            if (!IsPort(host[(colon + 1)..]))
            {
                return HostAddressOutcome.Invalid;
            }

            host = host[..colon];
        }

        if (host.IsEmpty || host.ContainsAnyExcept(_hostCharacters))
        {
            return HostAddressOutcome.Invalid;
        }

        if (host[^1] == '.')
        {
            host = host[..^1];
        }

        var labelLength = host.Length - _domain.Length - 1;
        if (labelLength <= 0 || host[labelLength] != '.' || !Ascii.EqualsIgnoreCase(host[(labelLength + 1)..], _domain))
        {
            return HostAddressOutcome.NotOurDomain;
        }

        return ParseLabel(host[..labelLength], nameBuffer, out nameLength);
    }

    /// <summary>The same for a value in bytes; a byte outside ASCII is invalid.</summary>
    public HostAddressOutcome Parse(ReadOnlySpan<byte> host, Span<char> nameBuffer, out int nameLength)
    {
        Span<char> characters = stackalloc char[MaxHostLength];
        if (host.Length > MaxHostLength || Ascii.ToUtf16(host, characters, out var length) != OperationStatus.Done)
        {
            nameLength = 0;
            return HostAddressOutcome.Invalid;
        }

        return Parse(characters[..length], nameBuffer, out nameLength);
    }

    /// <summary>Reads a host that is not below the server's own domain, where agents may have claimed it as a whole.</summary>
    /// <param name="host">The value of Host or <c>:authority</c>.</param>
    /// <param name="buffer">Receives the domain in lower case; at least <see cref="DomainName.MaxLength"/> long.</param>
    /// <param name="length">How much of the buffer is the domain.</param>
    /// <returns>False where no agent can have claimed it.</returns>
    public bool TryReadDomain(ReadOnlySpan<char> host, Span<char> buffer, out int length)
    {
        length = 0;
        var colon = host.IndexOf(':');
        host = colon >= 0 ? host[..colon] : host;
        host = host.EndsWith('.') ? host[..^1] : host;
        if (host.Length is 0 or > DomainName.MaxLength
            || !DomainName.IsMeant(host)
            || host.ContainsAnyExcept(_domainCharacters)
            || Ascii.ToLower(host, buffer, out length) != OperationStatus.Done)
        {
            return false;
        }

        return !DomainName.IsAtOrBelow(buffer[..length], _domain);
    }

    /// <summary>The same for a value in bytes.</summary>
    public bool TryReadDomain(ReadOnlySpan<byte> host, Span<char> buffer, out int length)
    {
        Span<char> characters = stackalloc char[MaxHostLength];
        length = 0;
        return host.Length <= MaxHostLength
            && Ascii.ToUtf16(host, characters, out var read) == OperationStatus.Done
            && TryReadDomain(characters[..read], buffer, out length);
    }

    private HostAddressOutcome ParseLabel(ReadOnlySpan<char> label, Span<char> nameBuffer, out int nameLength)
    {
        nameLength = 0;
        Span<char> lower = stackalloc char[MaxHostLength];
        lower = lower[..label.Length];
        if (Ascii.ToLower(label, lower, out _) != OperationStatus.Done)
        {
            return HostAddressOutcome.Invalid;
        }

        var name = PublicName.EndsInEntryId(lower, _entryId) ? lower[..^(_entryId.Length + 1)] : lower;
        if (PublicName.Check(name, _entryId) != PublicNameProblem.None)
        {
            return HostAddressOutcome.NotOurDomain;
        }

        name.CopyTo(nameBuffer);
        nameLength = name.Length;
        return HostAddressOutcome.Name;
    }

    private static HostAddressOutcome ParseIPv6Literal(ReadOnlySpan<char> host)
    {
        var end = host.IndexOf(']');
        var rest = host[(end + 1)..];
        return end > 2
            && !host[1..end].ContainsAnyExcept(_ipv6Characters)
            && (rest.IsEmpty || (rest[0] == ':' && IsPort(rest[1..])))
            ? HostAddressOutcome.NotOurDomain
            : HostAddressOutcome.Invalid;
    }

    // RFC 3986 section 3.2.3 allows an empty port.
    private static bool IsPort(ReadOnlySpan<char> text)
    {
        var value = 0;
        foreach (var c in text)
        {
            if (!char.IsAsciiDigit(c))
            {
                return false;
            }

            value = Math.Min((value * 10) + (c - '0'), 65536);
        }

        return value < 65536;
    }
}
