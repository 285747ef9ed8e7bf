using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography;
using System.Text;
using Tunnel2.FunctionalTests.Harness;

namespace Tunnel2.FunctionalTests.Https;

/// <summary>A visitor over HTTPS that takes any certificate and looks at it.</summary>
internal static class Tls
{
    public static Task<SslStream> ConnectAsync(EntryFixture entry, string name, SslProtocols versions = SslProtocols.None) =>
        ConnectAsync(entry.Https, name, versions);

    [SuppressMessage("Security", "CA5359", Justification = "The test compares the certificate itself.")]
    public static async Task<SslStream> ConnectAsync(EndPoint https, string name, SslProtocols versions = SslProtocols.None)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await socket.ConnectAsync(https);
        var tls = new SslStream(new NetworkStream(socket, ownsSocket: true));
        try
        {
            await tls.AuthenticateAsClientAsync(new SslClientAuthenticationOptions
            {
                TargetHost = name,
                RemoteCertificateValidationCallback = static (_, _, _, _) => true,
                EnabledSslProtocols = versions,
            });
            return tls;
        }
        catch
        {
            await tls.DisposeAsync();
            throw;
        }
    }

    public static string FingerprintOf(SslStream visitor) =>
        "sha256:" + visitor.RemoteCertificate!.GetCertHashString(HashAlgorithmName.SHA256);

    /// <summary>An answer of the server's own: there is no agent.</summary>
    public static async Task AssertServedAsync(SslStream visitor)
    {
        await visitor.WriteAsync("GET / HTTP/1.1\r\nHost: nobody.example\r\n\r\n"u8.ToArray());
        var buffer = new byte[12];
        await visitor.ReadExactlyAsync(buffer).AsTask().WaitAsync(TimeSpan.FromSeconds(20));
        Assert.Equal("HTTP/1.1 404", Encoding.ASCII.GetString(buffer));
    }
}
