using System.Formats.Asn1;
using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Telemetry.Files;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Fronts.Tls;

/// <summary>
/// An authority of this server's own, for trials and development. A client that imports it trusts every name below the domain, also after
/// restarts. It is limited to that domain and to loopback, so its key is worth nothing elsewhere. Thread-safe.
/// </summary>
internal sealed class LocalAuthority
{
    private const int YearsValid = 10;
    private const string ServerAuthentication = "1.3.6.1.5.5.7.3.1";
    private const string NameConstraints = "2.5.29.30";

    /// <summary>Clients want server certificates with a short life (at most 825 days); these are renewed in time.</summary>
    private static readonly TimeSpan _leafLife = TimeSpan.FromDays(90);
    private static readonly TimeSpan _clockSkew = TimeSpan.FromDays(1);

    private readonly X509Certificate2 _certificate;
    private readonly X509Certificate2Collection _chain;
    private readonly ECDsa _leafKey = ECDsa.Create(ECCurve.NamedCurves.nistP256);
    private readonly Lock _gate = new();

    private LocalAuthority(X509Certificate2 certificate, string certificatePath)
    {
        _certificate = certificate;
        _chain = [X509CertificateLoader.LoadCertificate(certificate.RawData)];
        CertificatePath = certificatePath;
    }

    /// <summary>The file for clients to import: the certificate without its key.</summary>
    public string CertificatePath { get; }

    /// <summary>What operators see of its certificate.</summary>
    public CertificateFacts Facts => new(
        _certificate.Subject, CertificateFingerprint.Of(_certificate).ToString(), _certificate.NotBefore.ToUniversalTime(),
        _certificate.NotAfter.ToUniversalTime());

    /// <summary>Finds the authority of a domain in the state folder, or makes it; one that ends soon is replaced.</summary>
    /// <param name="folder">The state folder.</param>
    /// <param name="domain">The domain.</param>
    /// <param name="now">The time.</param>
    /// <exception cref="IOException">
    /// The file cannot be read or written; the message says where and which setting to use instead.
    /// </exception>
    public static LocalAuthority FindOrCreate(string folder, string domain, DateTimeOffset now)
    {
        var path = Path.Combine(folder, $"authority-{domain}.pem");
        var certificatePath = Path.Combine(folder, $"authority-{domain}.crt");
        try
        {
            StateFolder.Create(folder);
            if (File.Exists(path))
            {
                OwnerOnlyFile.Narrow(path);
                var found = X509Certificate2.CreateFromPemFile(path);
                if (found.NotAfter.ToUniversalTime() > now.UtcDateTime + _leafLife)
                {
                    return Keep(found);
                }

                found.Dispose();
                File.Delete(path);
            }

            SelfMadeCertificate.Write(path, CreatePem(domain, now));
            return Keep(X509Certificate2.CreateFromPemFile(path));
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or CryptographicException)
        {
            throw new IOException(
                $"The authority for HTTPS cannot be kept in {folder}: {exception.Message} "
                + "Set Tunnel2:StateFolder to a folder that lasts, or Tunnel2:Public:Certificate to a certificate of your own.",
                exception);
        }

        LocalAuthority Keep(X509Certificate2 certificate)
        {
            var pem = certificate.ExportCertificatePem() + "\n";
            if (!File.Exists(certificatePath) || File.ReadAllText(certificatePath) != pem)
            {
                File.Delete(certificatePath);
                SelfMadeCertificate.Write(certificatePath, pem);
            }

            return new LocalAuthority(certificate, certificatePath);
        }
    }

    /// <summary>Issues a server's certificate.</summary>
    /// <param name="names">The names and addresses that it is for.</param>
    /// <param name="now">The time.</param>
    public ServerCertificate Issue(IEnumerable<string> names, DateTimeOffset now)
    {
        var (from, to) = (now - _clockSkew, now + _leafLife);
        lock (_gate)
        {
            var request = new CertificateRequest("CN=tunnel2 self-made", _leafKey, HashAlgorithmName.SHA256);
            request.CertificateExtensions.Add(SelfMadeCertificate.SubjectNames(names));
            request.CertificateExtensions.Add(new X509BasicConstraintsExtension(false, false, 0, true));
            request.CertificateExtensions.Add(new X509KeyUsageExtension(X509KeyUsageFlags.DigitalSignature, true));
            request.CertificateExtensions.Add(new X509EnhancedKeyUsageExtension([new Oid(ServerAuthentication)], false));
            request.CertificateExtensions.Add(X509AuthorityKeyIdentifierExtension.CreateFromCertificate(_certificate, true, false));
            var serial = RandomNumberGenerator.GetBytes(16);
            serial[0] = (byte)((serial[0] & 0x7F) | 1);

            // A certificate must not be valid longer than its issuer.
            using var issued = request.Create(
                _certificate,
                from < _certificate.NotBefore ? _certificate.NotBefore : from,
                to > _certificate.NotAfter ? _certificate.NotAfter : to,
                serial);
            return ServerCertificate.Create(issued.CopyWithPrivateKey(_leafKey), _chain);
        }
    }

    private static string CreatePem(string domain, DateTimeOffset now)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest(AuthorityName(domain), key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, true, 0, true));
        request.CertificateExtensions.Add(new X509KeyUsageExtension(X509KeyUsageFlags.KeyCertSign, true));
        request.CertificateExtensions.Add(new X509SubjectKeyIdentifierExtension(request.PublicKey, false));
        request.CertificateExtensions.Add(new X509Extension(NameConstraints, CreateConstraints(domain), critical: true));
        using var certificate = request.CreateSelfSigned(now - _clockSkew, now.AddYears(YearsValid));
        return certificate.ExportCertificatePem() + "\n" + key.ExportPkcs8PrivateKeyPem() + "\n";
    }

    /// <summary>The name in a client's list of authorities: a common name has at most 64 characters.</summary>
    private static X500DistinguishedName AuthorityName(string domain)
    {
        var name = $"tunnel2 on {Dns.GetHostName()} for {domain}";
        var builder = new X500DistinguishedNameBuilder();
        builder.AddCommonName(name.Length <= 64 ? name : name[..64]);
        return builder.Build();
    }

    /// <summary>RFC 5280 section 4.2.1.10: the only names and addresses that it may certify.</summary>
    private static byte[] CreateConstraints(string domain)
    {
        var writer = new AsnWriter(AsnEncodingRules.DER);
        using (writer.PushSequence())
        using (writer.PushSequence(new Asn1Tag(TagClass.ContextSpecific, 0)))
        {
            foreach (var name in new[] { domain, "localhost" }.Distinct())
            {
                using (writer.PushSequence())
                {
                    writer.WriteCharacterString(UniversalTagNumber.IA5String, name, new Asn1Tag(TagClass.ContextSpecific, 2));
                }
            }

            foreach (var network in new[] { IPNetwork.Parse("127.0.0.0/8"), IPNetwork.Parse("::1/128") })
            {
                var address = network.BaseAddress.GetAddressBytes();
                var mask = new byte[address.Length];
                for (var bit = 0; bit < network.PrefixLength; bit++)
                {
                    mask[bit / 8] |= (byte)(0x80 >> (bit % 8));
                }

                using (writer.PushSequence())
                {
                    writer.WriteOctetString([.. address, .. mask], new Asn1Tag(TagClass.ContextSpecific, 7));
                }
            }
        }

        return writer.Encode();
    }
}
