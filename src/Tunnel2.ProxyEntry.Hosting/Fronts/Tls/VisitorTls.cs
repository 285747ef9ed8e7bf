using System.Net.Security;
using System.Security.Cryptography;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Reload;

namespace Tunnel2.ProxyEntry.Fronts.Tls;

/// <summary>
/// TLS of the HTTPS listener. It chooses the certificate at each handshake, so the next visitor gets a renewed one. Thread-safe.
/// </summary>
internal sealed class VisitorTls
{
    private readonly IVisitorCertificates _certificates;

    /// <summary>Loads the certificate of the settings, or finds or makes the server's own authority.</summary>
    /// <exception cref="IOException">The certificate cannot be read, or the authority cannot be written.</exception>
    public VisitorTls(ProxyEntrySettings settings, TimeProvider timeProvider, ILogger<VisitorTls> logger)
    {
        if (settings.HttpsCertificate is not { } source)
        {
            var authority = LocalAuthority.FindOrCreate(settings.StateFolder, settings.Domain, timeProvider.GetUtcNow());
            ProxyEntryLog.AuthorityInUse(logger, settings.Domain, authority.CertificatePath);
            _certificates = new SelfMadeCertificates(authority, settings.Domain, timeProvider);
            return;
        }

        try
        {
            var certificate = new ReloadingCertificate(source, CertificateUse.Visitors, timeProvider, logger);
            Reloadable = certificate;
            _certificates = new FileCertificates(certificate);
        }
        catch (Exception exception) when (exception is CryptographicException or UnauthorizedAccessException or ArgumentException)
        {
            throw new IOException($"The certificate for HTTPS cannot be used ({source.Path}): {exception.Message}", exception);
        }
    }

    /// <summary>The certificate to read again when its files change; null for self-made ones.</summary>
    public IReloadable? Reloadable { get; }

    /// <summary>The options for Kestrel, which adds what the listener's versions of HTTP need.</summary>
    public TlsHandshakeCallbackOptions CreateOptions() => new()
    {
        OnConnection = context => new ValueTask<SslServerAuthenticationOptions>(new SslServerAuthenticationOptions
        {
            ServerCertificateContext = _certificates.Find(context.ClientHelloInfo.ServerName),
        }),
    };
}
