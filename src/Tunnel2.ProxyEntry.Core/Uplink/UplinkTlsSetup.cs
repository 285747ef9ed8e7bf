using System.Security.Cryptography;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>TLS of the uplink, as the settings want it.</summary>
/// <param name="Server">Does the handshakes; null for plaintext.</param>
/// <param name="Certificate">The server's certificate; null for plaintext.</param>
/// <param name="Description">The kind of protection and its reason, for the line that shows the listener.</param>
internal sealed record UplinkTlsSetup(UplinkTlsServer? Server, ReloadingCertificate? Certificate, string Description)
{
    /// <summary>Makes it from the settings; a self-made certificate is found or made here.</summary>
    /// <exception cref="IOException">The certificate cannot be read or kept.</exception>
    public static UplinkTlsSetup Create(ProxyEntrySettings settings, IServiceProvider services)
    {
        if (settings.UplinkSecurity == UplinkSecurity.Plaintext)
        {
            return new UplinkTlsSetup(
                null,
                null,
                System.Net.IPAddress.IsLoopback(settings.UplinkListen.Address)
                    ? "plaintext, because it is loopback"
                    : "plaintext, by Tunnel2:Uplink:AllowPlaintext");
        }

        var logger = services.GetRequiredService<ILogger<UplinkTlsServer>>();
        var time = services.GetRequiredService<TimeProvider>();
        var isNew = false;
        var source = settings.UplinkCertificate ?? SelfMadeCertificate.FindOrCreate(settings, time.GetUtcNow(), out isNew);
        if (isNew)
        {
            ProxyEntryLog.CertificateMade(logger, source.Path);
        }

        ReloadingCertificate certificate;
        try
        {
            certificate = new ReloadingCertificate(source, CertificateUse.Agents, time, logger);
        }
        catch (Exception exception) when (exception is CryptographicException or UnauthorizedAccessException or ArgumentException)
        {
            throw new IOException($"The certificate of the uplink cannot be used ({source.Path}): {exception.Message}", exception);
        }

        var authorities = settings.UplinkClientCa is { } path && ClientAuthorities.TryLoad(path, out var loaded, out _) ? loaded : null;
        var server = new UplinkTlsServer(
            certificate, authorities, services.GetRequiredService<AgentRegistry>(), services.GetRequiredService<UplinkRejection>(),
            services.GetRequiredService<HandshakeTurns>(), time, logger);
        return new UplinkTlsSetup(
            server,
            certificate,
            settings.UplinkSecurity == UplinkSecurity.SelfMade ? "TLS, self-made certificate" : $"TLS, certificate {source.Path}");
    }
}
