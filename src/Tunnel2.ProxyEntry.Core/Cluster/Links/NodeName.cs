using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// A node's id in its certificate: a DNS name below a domain that no public authority issues for. So it is the name that TLS compares
/// anyway, and any tool that makes certificates can write it.
/// </summary>
internal static class NodeName
{
    private const string Suffix = ".node.tunnel2.internal";

    /// <summary>The name of a node.</summary>
    /// <param name="node">The node's id.</param>
    public static string Of(string node) => node + Suffix;

    /// <summary>The ids in a certificate; none: it is no node's.</summary>
    public static IReadOnlyList<string> In(X509Certificate2 certificate)
    {
        try
        {
            return
            [
                .. certificate.Extensions.OfType<X509SubjectAlternativeNameExtension>()
                    .SelectMany(static names => names.EnumerateDnsNames())
                    .Where(static name => name.EndsWith(Suffix, StringComparison.OrdinalIgnoreCase))
                    .Select(static name => name[..^Suffix.Length].ToLowerInvariant()),
            ];
        }
        catch (CryptographicException)
        {
            // They are not what names have to be.
            return [];
        }
    }
}
