using System.Globalization;
using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Transport.Tls;

namespace Tunnel2.Client.Core.Session.Tls;

/// <summary>Judges the server's certificate in one handshake, and keeps the words for why it was refused. One use per instance.</summary>
internal sealed class ServerTrust
{
    private readonly List<CertificateFingerprint> _fingerprints = [];
    private readonly X509Certificate2Collection? _authorities;
    private readonly string _host;
    private readonly DateTime _now;

    /// <param name="options">Whom to trust.</param>
    /// <param name="authorities">The authorities of its file; null: the system's.</param>
    /// <param name="host">The name that the user dials.</param>
    /// <param name="now">The time, in UTC.</param>
    public ServerTrust(TlsOptions options, X509Certificate2Collection? authorities, string host, DateTime now)
    {
        foreach (var text in options.ServerFingerprints)
        {
            if (CertificateFingerprint.TryParse(text, out var fingerprint))
            {
                _fingerprints.Add(fingerprint);
            }
        }

        // A fingerprint that could not be read must not turn into trust in all that the system trusts.
        IsPinned = options.ServerFingerprints.Count > 0;
        _authorities = authorities;
        _host = host;
        _now = now;
    }

    /// <summary>Whether the certificate is that of a proxy before the server, which the words follow.</summary>
    public bool IsProxy { get; init; }

    /// <summary>Why the certificate was refused, in words that fit into brackets; null while it was not.</summary>
    public string? Problem { get; private set; }

    /// <summary>The fingerprint of a certificate that was refused only because no known authority has issued it; otherwise null.</summary>
    public string? Untrusted { get; private set; }

    /// <summary>Whether a certificate was refused because of its dates.</summary>
    public bool IsOutOfDate { get; private set; }

    private bool IsPinned { get; }

    private string Its => IsProxy ? "its" : "the server's";

    /// <summary>How the chain is to be built.</summary>
    public X509ChainPolicy CreateChainPolicy()
    {
        var policy = new X509ChainPolicy { RevocationMode = X509RevocationMode.NoCheck };
        if (_authorities is not null)
        {
            policy.TrustMode = X509ChainTrustMode.CustomRootTrust;
            policy.CustomTrustStore.AddRange(_authorities);
        }

        // A pin needs no chain, so nothing is fetched for one.
        policy.DisableCertificateDownloads = IsPinned || _authorities is not null;
        return policy;
    }

    /// <summary>The callback of SslStream.</summary>
    public bool Judge(X509Certificate? certificate, X509Chain? chain, SslPolicyErrors errors)
    {
        Problem = certificate is null ? (IsProxy ? "it shows no certificate" : "the server shows no certificate")
            : IsPinned ? JudgePinned(certificate)
            : errors == SslPolicyErrors.None ? null
            : Describe((X509Certificate2)certificate, chain, errors);
        return Problem is null;
    }

    private string? JudgePinned(X509Certificate certificate)
    {
        var seen = CertificateFingerprint.Of(certificate);
        return _fingerprints.Contains(seen)
            ? null
            : $"the server's certificate has the fingerprint {seen}, not the one given: it was changed, or another machine is in between";
    }

    private string Describe(X509Certificate2 certificate, X509Chain? chain, SslPolicyErrors errors)
    {
        // The dates first: everything else may be right, and a wrong clock is the commonest cause.
        IsOutOfDate = _now < certificate.NotBefore.ToUniversalTime() || _now > certificate.NotAfter.ToUniversalTime();
        if (_now < certificate.NotBefore.ToUniversalTime())
        {
            return $"{Its} certificate is not valid before {Show(certificate.NotBefore)}; this machine's clock says {Show(_now)}: "
                + $"is it right?";
        }

        if (_now > certificate.NotAfter.ToUniversalTime())
        {
            return $"{Its} certificate has expired on {Show(certificate.NotAfter)}; this machine's clock says {Show(_now)}";
        }

        if ((errors & SslPolicyErrors.RemoteCertificateChainErrors) != 0)
        {
            var status = chain?.ChainStatus.FirstOrDefault().Status ?? X509ChainStatusFlags.UntrustedRoot;
            bool isUnknown = status is X509ChainStatusFlags.UntrustedRoot or X509ChainStatusFlags.PartialChain
                or X509ChainStatusFlags.NoError;
            Untrusted = isUnknown ? CertificateFingerprint.Of(certificate).ToString() : null;
            return !isUnknown ? $"{Its} certificate is not accepted: {status}"
                : IsProxy ? "its certificate is not issued by an authority that is trusted here; give the authority by --proxy-ca"
                : $"{Its} certificate is not issued by an authority that is trusted here; if ProxyEntry printed this "
                    + $"fingerprint at its start, trust it by "
                    + $"--server-fingerprint {CertificateFingerprint.Of(certificate)}, or give the authority by --server-ca";
        }

        return $"{Its} certificate is for {Names(certificate)}, not for '{_host}'";
    }

    private static string Names(X509Certificate2 certificate)
    {
        var names = new List<string>();
        foreach (var extension in certificate.Extensions.OfType<X509SubjectAlternativeNameExtension>())
        {
            names.AddRange(extension.EnumerateDnsNames());
            names.AddRange(extension.EnumerateIPAddresses().Select(static address => address.ToString()));
        }

        return names.Count == 0 ? "no name at all" : string.Join(", ", names.Take(5).Select(static name => $"'{name}'"));
    }

    private static string Show(DateTime time) => time.ToUniversalTime().ToString("yyyy-MM-dd HH:mm'Z'", CultureInfo.InvariantCulture);
}
