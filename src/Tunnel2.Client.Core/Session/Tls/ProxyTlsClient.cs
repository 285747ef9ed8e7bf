using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Transport.Tls;

namespace Tunnel2.Client.Core.Session.Tls;

/// <summary>Makes an encrypted connection to a proxy of a connected one. The server's own TLS, if any, is inside.</summary>
internal static class ProxyTlsClient
{
    /// <summary>Shakes hands.</summary>
    /// <param name="transport">The connection; the encrypted transport owns it when there is one, otherwise it stays the caller's.</param>
    /// <param name="proxy">The proxy, whose name is checked.</param>
    /// <param name="server">The server behind it.</param>
    /// <param name="way">What that port of the server is for; messages name it.</param>
    /// <param name="timeProvider">Time.</param>
    /// <param name="deadline">Aborts the connection.</param>
    /// <returns>The encrypted transport, or why there is none.</returns>
    public static async Task<(IUplinkTransport? Transport, ConnectFailure? Failure)> OpenAsync(
        IUplinkTransport transport,
        ProxyAddress proxy,
        ServerEndpoint server,
        UplinkWay way,
        TimeProvider timeProvider,
        CancellationToken deadline)
    {
        X509Certificate2Collection? authorities;
        try
        {
            // A file may block; the connection's own thread serves others.
            authorities = proxy.AuthoritiesFile is { } path
                ? await Task.Run(() => TlsFiles.LoadAuthorities(path), CancellationToken.None).ConfigureAwait(false)
                : null;
        }
        catch (Exception exception)
            when (exception is IOException or UnauthorizedAccessException or CryptographicException or ArgumentException)
        {
            return (null, Fail($"cannot be trusted: the file of --proxy-ca cannot be used: {exception.Message}"));
        }

        var trust = new ServerTrust(new TlsOptions(), authorities, proxy.Host, timeProvider.GetUtcNow().UtcDateTime) { IsProxy = true };
        var options = new SslClientAuthenticationOptions
        {
            TargetHost = proxy.Host,
            CertificateRevocationCheckMode = X509RevocationMode.NoCheck,
            CertificateChainPolicy = trust.CreateChainPolicy(),
            RemoteCertificateValidationCallback = (_, certificate, chain, errors) => trust.Judge(certificate, chain, errors),
        };
        var result = await TlsHandshake.ConnectToHttpAsync(
            transport, options, Timeout.InfiniteTimeSpan, timeProvider, deadline).ConfigureAwait(false);
        return result.Status switch
        {
            TlsHandshakeStatus.Done => (result.Transport, null),
            _ when deadline.IsCancellationRequested => (null, Fail("took the connection and did not answer in time")),
            TlsHandshakeStatus.NotTls => (null, Fail("does not speak TLS at this port: is it a proxy of http://?")),
            _ when trust.Problem is { } problem => (null, Fail($"cannot be trusted: {problem}")),
            TlsHandshakeStatus.Closed => (null, Fail("closed the connection within the TLS handshake")),
            _ => (null, Fail($"refuses TLS ({result.Detail.TrimEnd('.')})")),
        };

        ConnectFailure Fail(string detail) => ConnectFailure.AtProxy(server, way, proxy, ConnectFailureReason.ProxyFailed, detail);
    }
}
