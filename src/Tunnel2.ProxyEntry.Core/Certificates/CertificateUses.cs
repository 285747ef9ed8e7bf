namespace Tunnel2.ProxyEntry.Certificates;

/// <summary>
/// The certificates of this server, with whom each is shown to: for operators. Filled at the start; reading is thread-safe.
/// </summary>
internal sealed class CertificateUses
{
    private readonly List<(string Use, Func<CertificateFacts> Current, Func<CertificateRefusal?> Refusal)> _single = [];
    private readonly List<(string Use, INamedCertificates Certificates)> _named = [];

    /// <summary>Adds one that may be replaced by another one.</summary>
    /// <param name="use">Whom it is shown to.</param>
    /// <param name="current">The one in use.</param>
    /// <param name="refusal">Why its files cannot take its place; null when they can, or for one without files.</param>
    public void Add(string use, Func<CertificateFacts> current, Func<CertificateRefusal?>? refusal = null) =>
        _single.Add((use, current, refusal ?? (static () => null)));

    /// <summary>Adds those that are chosen by name.</summary>
    public void Add(string use, INamedCertificates certificates) => _named.Add((use, certificates));

    /// <summary>The certificates now; of those by name the first to end.</summary>
    public IReadOnlyList<(string Use, CertificateFacts Facts)> Now() =>
    [
        .. _single.Select(static one => (one.Use, one.Current())),
        .. _named.SelectMany(static some =>
            some.Certificates.First.Select(one => (some.Use, one with { Origin = some.Certificates.Origin }))),
    ];

    /// <summary>How many there are, by use.</summary>
    public IEnumerable<(string Use, int Count)> Counts() =>
        _single.Select(static one => (one.Use, Count: 1))
            .Concat(_named.Select(static some => (some.Use, some.Certificates.Count)))
            .GroupBy(static one => one.Use, StringComparer.Ordinal)
            .Select(static uses => (uses.Key, uses.Sum(static one => one.Count)));

    /// <summary>How many could not be used at the last look.</summary>
    public int Refused() =>
        _single.Count(static one => one.Refusal() is not null) + _named.Sum(static some => some.Certificates.Refused);

    /// <summary>The first of these, with whom they would be shown to.</summary>
    public IReadOnlyList<(string Use, CertificateRefusal Refusal)> Refusals() =>
    [
        .. _single.Select(static one => (one.Use, Refusal: one.Refusal())).Where(static one => one.Refusal is not null)
            .Select(static one => (one.Use, one.Refusal!)),
        .. _named.SelectMany(static some => some.Certificates.Refusals.Select(one => (some.Use, one))),
    ];
}
