using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Telemetry.Files;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// The authority of a cluster, in a folder: <c>ca.pem</c> with its certificate, or with those of two while one takes the place of the
/// other, and <c>ca.key</c> with the key of the newest. It makes the certificates of nodes. All files are for their owner only.
/// </summary>
internal sealed class ClusterAuthority
{
    /// <summary>The file with the key of the newest authority. Nodes do not need it.</summary>
    public const string KeyFile = "ca.key";

    private const int YearsOfAuthority = 10;
    private const int SerialLength = 16;

    private static readonly TimeSpan _clockSkew = TimeSpan.FromDays(1);

    private readonly string _folder;
    private readonly DateTimeOffset _now;

    /// <param name="folder">The folder; it is made when it is not there.</param>
    /// <param name="now">The time.</param>
    public ClusterAuthority(string folder, DateTimeOffset now)
    {
        _folder = folder;
        _now = now;
    }

    /// <summary>The file with the authorities' certificates.</summary>
    public string CertificatePath => Path.Combine(_folder, NodeLinkSettings.AuthoritiesFile);

    private string KeyPath => Path.Combine(_folder, KeyFile);

    /// <summary>Whether there is one.</summary>
    public bool Exists => File.Exists(CertificatePath) || File.Exists(KeyPath);

    /// <summary>Makes an authority. One that is there stays trusted, and loses its key: it issues nothing more.</summary>
    /// <exception cref="IOException">A file cannot be written.</exception>
    public void Create()
    {
        StateFolder.Create(_folder);
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest(
            $"CN=Tunnel2 cluster {Convert.ToHexStringLower(RandomNumberGenerator.GetBytes(4))}", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, true, 0, true));
        request.CertificateExtensions.Add(
            new X509KeyUsageExtension(X509KeyUsageFlags.KeyCertSign | X509KeyUsageFlags.CrlSign, true));
        request.CertificateExtensions.Add(new X509SubjectKeyIdentifierExtension(request.PublicKey, false));
        using var certificate = request.CreateSelfSigned(_now - _clockSkew, _now.AddYears(YearsOfAuthority));
        var others = File.Exists(CertificatePath) ? File.ReadAllText(CertificatePath) : "";

        // The certificate before the key: in between, the folder has an authority that is trusted and one that issues, both complete.
        Replace(CertificatePath, certificate.ExportCertificatePem() + "\n" + others);
        Replace(KeyPath, key.ExportPkcs8PrivateKeyPem() + "\n");
    }

    /// <summary>Makes a node's certificate with its key, in place of the one that may be there.</summary>
    /// <param name="node">The node's id.</param>
    /// <param name="valid">How long it is valid.</param>
    /// <returns>The file.</returns>
    /// <exception cref="IOException">A file cannot be read or written.</exception>
    /// <exception cref="CryptographicException">The files are not those of an authority.</exception>
    public string Issue(string node, TimeSpan valid)
    {
        using var authority = Load();
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN=tunnel2 node {node}", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName(NodeName.Of(node));
        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(false, false, 0, true));
        request.CertificateExtensions.Add(new X509KeyUsageExtension(X509KeyUsageFlags.DigitalSignature, true));
        request.CertificateExtensions.Add(
            new X509EnhancedKeyUsageExtension([new Oid("1.3.6.1.5.5.7.3.1"), new Oid("1.3.6.1.5.5.7.3.2")], false));
        request.CertificateExtensions.Add(X509AuthorityKeyIdentifierExtension.CreateFromCertificate(authority, true, false));
        var from = Max(_now - _clockSkew, authority.NotBefore);
        var until = _now + valid;
        using var certificate = request.Create(
            authority, from, until < authority.NotAfter ? until : authority.NotAfter, RandomNumberGenerator.GetBytes(SerialLength));
        var path = Path.Combine(_folder, node + ".pem");
        Replace(path, certificate.ExportCertificatePem() + "\n" + key.ExportPkcs8PrivateKeyPem() + "\n");
        return path;
    }

    /// <summary>The newest authority, with its key.</summary>
    private X509Certificate2 Load()
    {
        var pem = File.ReadAllText(KeyPath);
        var all = new X509Certificate2Collection();
        all.ImportFromPemFile(CertificatePath);
        using var key = ECDsa.Create();
        try
        {
            key.ImportFromPem(pem);
        }
        catch (ArgumentException exception)
        {
            throw new CryptographicException($"{KeyPath} has no key in PEM.", exception);
        }

        X509Certificate2? found = null;
        foreach (var one in all)
        {
            using var its = one.GetECDsaPublicKey();
            if (found is null && its is not null
                && its.ExportSubjectPublicKeyInfo().AsSpan().SequenceEqual(key.ExportSubjectPublicKeyInfo()))
            {
                found = one.CopyWithPrivateKey(key);
            }

            one.Dispose();
        }

        return found ?? throw new CryptographicException($"{KeyPath} is not the key of a certificate in {CertificatePath}.");
    }

    private static DateTimeOffset Max(DateTimeOffset one, DateTimeOffset other) => one > other ? one : other;

    private static void Replace(string path, string pem)
    {
        var temporary = $"{path}.{Guid.NewGuid():N}";
        using (var writer = new StreamWriter(OwnerOnlyFile.Open(temporary, FileMode.CreateNew, FileAccess.Write, FileShare.None)))
        {
            writer.Write(pem);
        }

        File.Move(temporary, path, overwrite: true);
    }
}
