using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Uplinks.Security;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>The certificate that visitors are shown.</summary>
public sealed class PublicCertificateTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();
    private readonly TestAuthority _authority = new();
    private readonly ManualTimeProvider _time = new();

    [Theory]
    [InlineData("Public:Certificate")]
    [InlineData("Uplink:Certificate")]
    public async Task A_renewed_certificate_is_for_new_visitors_and_connections_that_stand_stay(string setting)
    {
        var (first, second) = (_authority.Issue("web.localhost"), _authority.Issue("web.localhost"));
        File.WriteAllText(_folder["public.pem"], first + _authority.Pem);
        await using var entry = await EntryFixture.StartAsync(
            _time, "Public:HttpsListen=127.0.0.1:0", $"{setting}={_folder["public.pem"]}");
        await using var before = await ConnectAsync(entry, _authority.Pem, "web.localhost");
        Assert.Equal(TestAuthority.Fingerprint(first), FingerprintOf(before));

        File.WriteAllText(_folder["public.pem"], "-----BEGIN CERTIFICATE-----\nhalf of it");
        for (var look = 0; look < 3; look++)
        {
            _time.Advance(ReloadLoop.Period);
        }

        await entry.Log.WaitForAsync(2253);
        await using (var meanwhile = await ConnectAsync(entry, _authority.Pem, "web.localhost"))
        {
            Assert.Equal(TestAuthority.Fingerprint(first), FingerprintOf(meanwhile));
        }

        File.WriteAllText(_folder["public.pem"], second + _authority.Pem);
        _time.Advance(ReloadLoop.Period);
        await entry.Log.WaitForAsync(2260);

        // A visitor that comes back with a session of the old certificate is shown the new one.
        await using var after = await ConnectAsync(entry, _authority.Pem, "web.localhost");
        Assert.Equal(TestAuthority.Fingerprint(second), FingerprintOf(after));
        await AssertServedAsync(before);
        await AssertServedAsync(after);
    }

    [Theory]
    [InlineData("15030100020100")]
    [InlineData("15030300020228")]
    [InlineData("170303000568656c6c6f")]
    [InlineData("160301000501000001ff")]
    [InlineData("47455420")]
    public async Task A_first_record_that_begins_no_handshake_ends_its_connection_and_is_no_fault(string hex)
    {
        File.WriteAllText(_folder["public.pem"], _authority.Issue("web.localhost"));
        await using var entry = await EntryFixture.StartAsync(
            _time, "Public:HttpsListen=127.0.0.1:0", "Public:Certificate=" + _folder["public.pem"]);
        await using (var visitor = await RawHttpClient.ConnectAsync(entry.Https))
        {
            await visitor.WriteAsync(Convert.FromHexString(hex));
            await visitor.ShutdownSendAsync();
            await visitor.WaitForEndAsync();
        }

        await using var other = await ConnectAsync(entry, _authority.Pem, "web.localhost");
        entry.Log.AssertNoErrors();
    }

    [Fact]
    public async Task Both_versions_of_HTTP_are_offered()
    {
        File.WriteAllText(_folder["public.pem"], _authority.Issue("web.localhost"));
        await using var entry = await EntryFixture.StartAsync(
            _time, "Public:HttpsListen=127.0.0.1:0", "Public:Certificate=" + _folder["public.pem"]);
        await using var h2 = await ConnectAsync(
            entry, _authority.Pem, "web.localhost", SslApplicationProtocol.Http2, SslApplicationProtocol.Http11);
        Assert.Equal(SslApplicationProtocol.Http2, h2.NegotiatedApplicationProtocol);
        await using var h1 = await ConnectAsync(entry, _authority.Pem, "web.localhost", SslApplicationProtocol.Http11);
        Assert.Equal(SslApplicationProtocol.Http11, h1.NegotiatedApplicationProtocol);
    }

    [Theory]
    [InlineData("localhost", "web.localhost", "Web.localhost", "localhost", "my-tunnel-e1.localhost")]
    [InlineData("example.test", "web.example.test", "example.test", "localhost", "other.example.test")]
    public async Task A_self_made_certificate_serves_every_name_and_is_trusted_by_one_import(string domain, params string[] names)
    {
        var state = _folder["state"];
        string[] settings = ["Public:HttpsListen=127.0.0.1:0", "Public:Certificate=self-made", "Domain=" + domain, "StateFolder=" + state];
        string authority;
        await using (var entry = await EntryFixture.StartAsync(null, settings))
        {
            var file = Path.Combine(state, $"authority-{domain}.crt");
            Assert.Contains(entry.Log.All, line => line.EventId == 2262 && line.Text.Contains(file, StringComparison.Ordinal));
            authority = await File.ReadAllTextAsync(file);
            Assert.DoesNotContain("PRIVATE", authority, StringComparison.Ordinal);
            foreach (var name in names)
            {
                await using var visitor = await ConnectAsync(entry, authority, name);
                using var certificate = new X509Certificate2(visitor.RemoteCertificate!);
                Assert.InRange(certificate.NotAfter - certificate.NotBefore, TimeSpan.FromDays(31), TimeSpan.FromDays(825));
                await AssertServedAsync(visitor);
            }

            // A name that is not served gets the certificate of the domain, which is not for it.
            await Assert.ThrowsAsync<AuthenticationException>(() => ConnectAsync(entry, authority, "elsewhere.example"));
        }

        if (!OperatingSystem.IsWindows())
        {
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute, File.GetUnixFileMode(state));
            foreach (var path in Directory.GetFiles(state))
            {
                Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(path));
            }
        }

        // What was imported is trusted after a restart too.
        await using var again = await EntryFixture.StartAsync(null, settings);
        await using var later = await ConnectAsync(again, authority, names[0]);
        await AssertServedAsync(later);
    }

    [Fact]
    public async Task A_self_made_certificate_of_the_uplink_means_one_for_visitors_as_well()
    {
        await using var entry = await EntryFixture.StartAsync(
            null, "Public:HttpsListen=127.0.0.1:0", "Uplink:Certificate=self-made", "StateFolder=" + _folder["state"]);
        await using var visitor = await ConnectAsync(
            entry, await File.ReadAllTextAsync(Path.Combine(_folder["state"], "authority-localhost.crt")), "web.localhost");
        await AssertServedAsync(visitor);
    }

    public void Dispose()
    {
        _authority.Dispose();
        _folder.Dispose();
    }

    private static async Task<SslStream> ConnectAsync(
        EntryFixture entry, string authority, string name, params SslApplicationProtocol[] protocols)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await socket.ConnectAsync(new IPEndPoint(IPAddress.Loopback, entry.Https.Port));
        var tls = new SslStream(new NetworkStream(socket, ownsSocket: true));
        var policy = new X509ChainPolicy { TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck };
        policy.CustomTrustStore.ImportFromPem(authority);
        try
        {
            await tls.AuthenticateAsClientAsync(new SslClientAuthenticationOptions
            {
                TargetHost = name,
                CertificateChainPolicy = policy,
                ApplicationProtocols = [.. protocols],
            });
            return tls;
        }
        catch
        {
            await tls.DisposeAsync();
            throw;
        }
    }

    private static string FingerprintOf(SslStream visitor) =>
        "sha256:" + visitor.RemoteCertificate!.GetCertHashString(System.Security.Cryptography.HashAlgorithmName.SHA256);

    /// <summary>An answer of the server's own: there is no agent.</summary>
    private static async Task AssertServedAsync(SslStream visitor)
    {
        await visitor.WriteAsync("GET / HTTP/1.1\r\nHost: nobody.example\r\n\r\n"u8.ToArray());
        var buffer = new byte[12];
        await visitor.ReadExactlyAsync(buffer).AsTask().WaitAsync(TimeSpan.FromSeconds(20));
        Assert.Equal("HTTP/1.1 404", Encoding.ASCII.GetString(buffer));
    }
}
