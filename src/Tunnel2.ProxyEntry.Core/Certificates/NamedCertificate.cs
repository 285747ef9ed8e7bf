using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Certificates;

/// <summary>A certificate with the names that it is for. Immutable.</summary>
/// <param name="Source">Where it comes from.</param>
/// <param name="Names">Names and wildcard names, in lower case.</param>
/// <param name="Certificate">The certificate.</param>
internal sealed record NamedCertificate(string Source, IReadOnlyList<string> Names, ServerCertificate Certificate)
{
    /// <summary>How many names a certificate may have.</summary>
    public const int MaxNames = 1000;

    /// <summary>Makes it from PEM.</summary>
    /// <param name="source">Where it comes from.</param>
    /// <param name="chain">The certificate first, then those between it and its authority.</param>
    /// <param name="key">The text with the private key.</param>
    /// <exception cref="CryptographicException">It cannot be used; the message says why.</exception>
    /// <exception cref="ArgumentException">The key is of another kind than that of the certificate.</exception>
    public static NamedCertificate Load(string source, ReadOnlySpan<char> chain, ReadOnlySpan<char> key)
    {
        var intermediates = new X509Certificate2Collection();
        var leaf = PemCertificate.Load(chain, key, intermediates);
        try
        {
            var names = NamesOf(leaf);
            return names.Count switch
            {
                0 => throw new CryptographicException("The certificate is for no DNS name."),
                > MaxNames => throw new CryptographicException($"The certificate is for more than {MaxNames} names."),
                _ => new NamedCertificate(source, names, ServerCertificate.Create(leaf, intermediates)),
            };
        }
        catch
        {
            leaf.Dispose();
            throw;
        }
    }

    /// <summary>The DNS names of a certificate, in lower case, each once; those that no visitor can ask for are left out.</summary>
    /// <exception cref="CryptographicException">The list of names cannot be read.</exception>
    public static IReadOnlyList<string> NamesOf(X509Certificate2 certificate) =>
    [
        .. certificate.Extensions.OfType<X509SubjectAlternativeNameExtension>()
            .SelectMany(static extension => extension.EnumerateDnsNames())
            .Select(static name => name.ToLowerInvariant().TrimEnd('.'))
            .Where(IsName)
            .Distinct(StringComparer.Ordinal)
            .Take(MaxNames + 1),
    ];

    /// <summary>Names in a text for people: the first three, and how many more there are.</summary>
    public static string Words(IReadOnlyList<string> names) =>
        names.Count <= 3 ? string.Join(", ", names) : $"{string.Join(", ", names.Take(3))} and {names.Count - 3} more";

    private static bool IsName(string name)
    {
        var rest = name.StartsWith("*.", StringComparison.Ordinal) ? name[2..] : name;
        return rest.Length is > 0 and <= 253 && !rest.Contains('*') && Uri.CheckHostName(rest) == UriHostNameType.Dns;
    }
}
