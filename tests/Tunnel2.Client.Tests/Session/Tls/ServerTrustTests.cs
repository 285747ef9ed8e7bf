using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Session.Tls;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Tls;

namespace Tunnel2.Client.Tests.Session.Tls;

public sealed class ServerTrustTests : IDisposable
{
    private static readonly DateTimeOffset _now = new(2026, 5, 1, 12, 0, 0, TimeSpan.Zero);
    private readonly X509Certificate2 _certificate = SelfMadeCertificate.Create("server", _now.AddDays(-1), _now.AddDays(1));
    private readonly X509Certificate2 _other = SelfMadeCertificate.Create("server", _now.AddDays(-1), _now.AddDays(1));

    public void Dispose()
    {
        _certificate.Dispose();
        _other.Dispose();
    }

    [Fact]
    public void A_certificate_without_errors_is_trusted()
    {
        var trust = Trust();
        Assert.True(trust.Judge(_certificate, null, SslPolicyErrors.None));
        Assert.Null(trust.Problem);
    }

    [Theory]
    [InlineData(SslPolicyErrors.RemoteCertificateNotAvailable)]
    [InlineData(SslPolicyErrors.None)]
    public void No_certificate_is_not_trusted(SslPolicyErrors errors) =>
        Assert.Equal("the server shows no certificate", Refused(Trust(), null, errors));

    [Theory]
    [InlineData(SslPolicyErrors.None)]
    [InlineData(SslPolicyErrors.RemoteCertificateChainErrors | SslPolicyErrors.RemoteCertificateNameMismatch)]
    public void A_pin_decides_alone(SslPolicyErrors errors)
    {
        string[] pins = [$"{CertificateFingerprint.Of(_other)}", $"{CertificateFingerprint.Of(_certificate)}"];
        Assert.True(Trust(pins: pins).Judge(_certificate, null, errors));
        Assert.Equal(
            $"the server's certificate has the fingerprint {pins[1]}, not the one given: it was changed, or another machine is in between",
            Refused(Trust(pins: pins[..1]), _certificate, errors));
    }

    [Fact]
    public void A_pin_that_cannot_be_read_trusts_no_server() =>
        Assert.StartsWith(
            "the server's certificate has the fingerprint ",
            Refused(Trust(pins: "sha256:12"), _certificate, SslPolicyErrors.None),
            StringComparison.Ordinal);

    [Fact]
    public void Dates_are_named_first_and_count_to_the_second()
    {
        const SslPolicyErrors Errors = SslPolicyErrors.RemoteCertificateChainErrors | SslPolicyErrors.RemoteCertificateNameMismatch;
        Assert.Equal(
            "the server's certificate is not valid before 2026-04-30 12:00Z; this machine's clock says 2026-04-30 11:59Z: is it right?",
            Refused(Trust(_now.AddDays(-1).AddSeconds(-1)), _certificate, Errors));
        Assert.Equal(
            "the server's certificate has expired on 2026-05-02 12:00Z; this machine's clock says 2026-05-02 12:00Z",
            Refused(Trust(_now.AddDays(1).AddSeconds(1)), _certificate, Errors));
        foreach (var valid in new[] { _now.AddDays(-1), _now.AddDays(1) })
        {
            Assert.Contains("not issued by an authority", Refused(Trust(valid), _certificate, Errors), StringComparison.Ordinal);
        }

        foreach (var (days, isOutOfDate) in new[] { (-2, true), (0, false), (2, true) })
        {
            var trust = Trust(_now.AddDays(days));
            _ = Refused(trust, _certificate, Errors);
            Assert.Equal(isOutOfDate, trust.IsOutOfDate);
        }
    }

    [Fact]
    public void An_unknown_authority_is_named_with_what_to_do() =>
        Assert.Equal(
            "the server's certificate is not issued by an authority that is trusted here; if ProxyEntry printed this fingerprint at "
                + $"its start, trust it by --server-fingerprint {CertificateFingerprint.Of(_certificate)}, or give the authority by "
                + "--server-ca",
            Refused(Trust(), _certificate, SslPolicyErrors.RemoteCertificateChainErrors));

    [Fact]
    public void Of_a_proxy_the_words_are_its_own()
    {
        var proxy = new ServerTrust(new TlsOptions(), null, "proxy.example", _now.UtcDateTime) { IsProxy = true };
        Assert.Equal(
            "its certificate is not issued by an authority that is trusted here; give the authority by --proxy-ca",
            Refused(proxy, _certificate, SslPolicyErrors.RemoteCertificateChainErrors));
        Assert.Equal("it shows no certificate", Refused(proxy, null, SslPolicyErrors.RemoteCertificateNotAvailable));
        Assert.EndsWith(
            "not for 'proxy.example'",
            Refused(proxy, _certificate, SslPolicyErrors.RemoteCertificateNameMismatch),
            StringComparison.Ordinal);
    }

    [Fact]
    public void A_chain_that_is_wrong_otherwise_is_not_called_an_unknown_authority()
    {
        using var chain = new X509Chain();
        chain.ChainPolicy.RevocationMode = X509RevocationMode.NoCheck;
        chain.ChainPolicy.TrustMode = X509ChainTrustMode.CustomRootTrust;
        chain.ChainPolicy.CustomTrustStore.Add(_certificate);
        chain.ChainPolicy.VerificationTime = _now.AddDays(9).UtcDateTime;
        Assert.False(chain.Build(_certificate));
        Assert.Equal(
            "the server's certificate is not accepted: NotTimeValid",
            Refused(Trust(), _certificate, SslPolicyErrors.RemoteCertificateChainErrors, chain));
    }

    [Fact]
    public void Another_name_is_named_beside_those_of_the_certificate() =>
        Assert.Equal(
            "the server's certificate is for 'localhost', '*.localhost', '127.0.0.1', '::1', not for 'server.example'",
            Refused(Trust(), _certificate, SslPolicyErrors.RemoteCertificateNameMismatch));

    [Fact]
    public void Only_given_authorities_are_trusted_where_some_are_given()
    {
        var system = Trust().CreateChainPolicy();
        Assert.Equal(X509ChainTrustMode.System, system.TrustMode);
        Assert.False(system.DisableCertificateDownloads);
        Assert.True(Trust(pins: "sha256:12").CreateChainPolicy().DisableCertificateDownloads);
        var given = new ServerTrust(new TlsOptions(), [_other], "server.example", _now.UtcDateTime).CreateChainPolicy();
        Assert.Equal(X509ChainTrustMode.CustomRootTrust, given.TrustMode);
        Assert.Same(_other, Assert.Single(given.CustomTrustStore));
        Assert.True(given.DisableCertificateDownloads);
    }

    private static ServerTrust Trust(DateTimeOffset? now = null, params string[] pins) =>
        new(new TlsOptions { ServerFingerprints = pins }, null, "server.example", (now ?? _now).UtcDateTime);

    private static string Refused(ServerTrust trust, X509Certificate? certificate, SslPolicyErrors errors, X509Chain? chain = null)
    {
        Assert.False(trust.Judge(certificate, chain, errors));
        return trust.Problem!;
    }
}
