using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Tunnel2.ProxyEntry.Access;

/// <summary>The authorities that issue visitors' certificates, of one side's rules. Thread-safe.</summary>
internal sealed class ClientAuthoritySet
{
    private const string ClientAuthentication = "1.3.6.1.5.5.7.3.2";

    private readonly X509Certificate2Collection _authorities;

    /// <param name="authorities">The certificates of the authorities, at least one. They are trusted with any issuer.</param>
    public ClientAuthoritySet(X509Certificate2Collection authorities)
    {
        ArgumentOutOfRangeException.ThrowIfZero(authorities.Count);
        _authorities = authorities;
    }

    /// <summary>Reads certificates that an agent sent.</summary>
    /// <returns>Null where one of them is none.</returns>
    public static ClientAuthoritySet? TryRead(IReadOnlyList<ReadOnlyMemory<byte>> certificates)
    {
        var authorities = new X509Certificate2Collection();
        try
        {
            foreach (var certificate in certificates)
            {
                authorities.Add(X509CertificateLoader.LoadCertificate(certificate.Span));
            }
        }
        catch (CryptographicException)
        {
            return null;
        }

        return authorities.Count == 0 ? null : new ClientAuthoritySet(authorities);
    }

    /// <summary>Whether it has the same certificates.</summary>
    public bool IsSameAs(ClientAuthoritySet? other) => other is not null
        && _authorities.Count == other._authorities.Count
        && _authorities.Zip(other._authorities).All(static pair => pair.First.RawData.AsSpan().SequenceEqual(pair.Second.RawData));

    /// <summary>
    /// Whether one of the authorities issued a certificate, which is valid now and for visitors. It asks no other machine.
    /// </summary>
    /// <param name="certificate">The visitor's certificate.</param>
    /// <param name="others">What the visitor sent with it.</param>
    /// <param name="now">The time.</param>
    public bool HasIssued(X509Certificate2 certificate, X509Certificate2Collection others, DateTimeOffset now)
    {
        using var chain = new X509Chain();
        chain.ChainPolicy.TrustMode = X509ChainTrustMode.CustomRootTrust;
        chain.ChainPolicy.CustomTrustStore.AddRange(_authorities);
        chain.ChainPolicy.ExtraStore.AddRange(others);
        chain.ChainPolicy.RevocationMode = X509RevocationMode.NoCheck;
        chain.ChainPolicy.DisableCertificateDownloads = true;
        chain.ChainPolicy.VerificationTime = now.UtcDateTime;
        chain.ChainPolicy.VerificationTimeIgnored = false;

        // An authority of the list is trusted where it was issued by another one, too.
        chain.ChainPolicy.VerificationFlags = X509VerificationFlags.AllowUnknownCertificateAuthority;
        chain.ChainPolicy.ApplicationPolicy.Add(new Oid(ClientAuthentication));
        try
        {
            return chain.Build(certificate) && chain.ChainElements.Skip(1).Any(element => IsListed(element.Certificate));
        }
        catch (CryptographicException)
        {
            return false;
        }
        finally
        {
            foreach (var element in chain.ChainElements)
            {
                element.Certificate.Dispose();
            }
        }
    }

    private bool IsListed(X509Certificate2 certificate) => _authorities.Any(
        authority => authority.RawDataMemory.Span.SequenceEqual(certificate.RawDataMemory.Span));
}
