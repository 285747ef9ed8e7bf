using System.Collections.Frozen;

namespace Tunnel2.ProxyEntry.Certificates;

/// <summary>
/// Finds the certificate for a name: one for exactly this name, then one for all names of its domain. Of several, one that is valid now,
/// and of these the one that ends last. Immutable.
/// </summary>
internal sealed class CertificateIndex
{
    private const int MostShown = 50;

    private readonly FrozenDictionary<string, ServerCertificate> _exact;
    private readonly FrozenDictionary<string, ServerCertificate> _wild;

    private CertificateIndex(
        Dictionary<string, ServerCertificate> exact, Dictionary<string, ServerCertificate> wild, IReadOnlyList<CertificateFacts> first,
        int count)
    {
        _exact = exact.ToFrozenDictionary(StringComparer.Ordinal);
        _wild = wild.ToFrozenDictionary(StringComparer.Ordinal);
        First = first;
        Count = count;
    }

    /// <summary>Without certificates.</summary>
    public static CertificateIndex Empty { get; } = new([], [], [], 0);

    /// <summary>The certificates that end first.</summary>
    public IReadOnlyList<CertificateFacts> First { get; }

    /// <summary>How many there are.</summary>
    public int Count { get; }

    /// <summary>Makes an index.</summary>
    /// <param name="certificates">All certificates.</param>
    /// <param name="now">The time, UTC.</param>
    public static CertificateIndex Build(IReadOnlyCollection<NamedCertificate> certificates, DateTime now)
    {
        var exact = new Dictionary<string, ServerCertificate>(StringComparer.Ordinal);
        var wild = new Dictionary<string, ServerCertificate>(StringComparer.Ordinal);
        foreach (var one in certificates
            .OrderBy(one => IsValid(one.Certificate, now) ? 0 : 1)
            .ThenByDescending(static one => one.Certificate.NotAfter)
            .ThenBy(static one => one.Source, StringComparer.Ordinal))
        {
            foreach (var name in one.Names)
            {
                if (name[0] == '*')
                {
                    wild.TryAdd(name[2..], one.Certificate);
                }
                else
                {
                    exact.TryAdd(name, one.Certificate);
                }
            }
        }

        return new CertificateIndex(
            exact,
            wild,
            [.. certificates.OrderBy(static one => one.Certificate.NotAfter).Take(MostShown).Select(static one => one.Certificate.Facts)],
            certificates.Count);
    }

    /// <summary>The certificate for a name; null when there is none.</summary>
    /// <param name="name">The name in lower case, without a dot at its end.</param>
    /// <param name="now">The time, UTC.</param>
    public ServerCertificate? Find(string name, DateTime now)
    {
        _exact.TryGetValue(name, out var exact);
        if (exact is not null && IsValid(exact, now))
        {
            return exact;
        }

        var dot = name.IndexOf('.', StringComparison.Ordinal);
        var wild = dot > 0 ? _wild.GetValueOrDefault(name[(dot + 1)..]) : null;
        return wild is not null && (exact is null || IsValid(wild, now)) ? wild : exact;
    }

    private static bool IsValid(ServerCertificate certificate, DateTime now) => certificate.NotBefore <= now && now <= certificate.NotAfter;
}
