using System.Buffers;
using System.Collections.Concurrent;
using System.Net.Security;
using Tunnel2.ProxyEntry.Certificates;

namespace Tunnel2.ProxyEntry.Fronts.Tls;

/// <summary>
/// A certificate for each name below the domain, made when a visitor first asks for it, and renewed in time. A wildcard is not possible:
/// browsers and OpenSSL refuse one directly below a top-level domain, such as <c>*.localhost</c>. Thread-safe.
/// </summary>
internal sealed class SelfMadeCertificates : IVisitorCertificates
{
    /// <summary>How many certificates are kept at most; visitors may ask for any name.</summary>
    public const int MaxKept = 1000;

    private const int MaxLabelLength = 63;
    private static readonly TimeSpan _renewBefore = TimeSpan.FromDays(30);
    private static readonly SearchValues<char> _labelCharacters = SearchValues.Create("abcdefghijklmnopqrstuvwxyz0123456789-");

    private readonly LocalAuthority _authority;
    private readonly string _domain;
    private readonly TimeProvider _timeProvider;
    private readonly ConcurrentDictionary<string, ServerCertificate> _kept = new(StringComparer.Ordinal);

    /// <param name="authority">Issues the certificates.</param>
    /// <param name="domain">The domain of the names.</param>
    /// <param name="timeProvider">The clock.</param>
    public SelfMadeCertificates(LocalAuthority authority, string domain, TimeProvider timeProvider)
    {
        _authority = authority;
        _domain = domain;
        _timeProvider = timeProvider;
    }

    /// <summary>The number of certificates that are kept now.</summary>
    public int Count => _kept.Count;

    /// <inheritdoc/>
    public SslStreamCertificateContext Find(string? serverName)
    {
        var name = Known(serverName);
        var now = _timeProvider.GetUtcNow();
        if (_kept.TryGetValue(name, out var kept) && now < kept.NotAfter - _renewBefore)
        {
            return kept.Context;
        }

        if (_kept.Count >= MaxKept)
        {
            // Trials do not have so many tunnels: the names were invented.
            _kept.Clear();
        }

        IEnumerable<string> names = [_domain, "*." + _domain];
        kept = _authority.Issue(name.Length == 0 ? [.. names, "localhost", "127.0.0.1", "::1"] : [name, .. names], now);
        _kept[name] = kept;
        return kept.Context;
    }

    /// <summary>A name directly below the domain; empty for all others, which get the certificate of the domain itself.</summary>
    private string Known(string? serverName)
    {
        var name = serverName?.ToLowerInvariant() ?? "";
        var label = name.Length - _domain.Length - 1;
        return label is > 0 and <= MaxLabelLength && name[label] == '.' && name.EndsWith(_domain, StringComparison.Ordinal)
            && !name.AsSpan(0, label).ContainsAnyExcept(_labelCharacters)
            ? name
            : "";
    }
}
