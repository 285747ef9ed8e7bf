using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Tunnel2.ProxyEntry.Acme;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Https;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Acme;

/// <summary>An order for a certificate, with an authority that does its work and with one that lies or stalls.</summary>
public sealed class CertificateOrderTests : IDisposable
{
    private readonly ManualTimeProvider _time = new();
    private readonly PendingChallenges _pending = new();
    private readonly FakeAuthority _authority;
    private readonly AcmeTransport _transport;
    private readonly AcmeKey _key = AcmeKey.Create();

    public CertificateOrderTests()
    {
        _authority = new FakeAuthority(_time);
        _transport = new AcmeTransport(_authority, _time);
    }

    [Fact]
    public async Task A_certificate_is_ordered_proved_and_checked()
    {
        string? seen = null;
        _authority.Visit = (_, name, token) =>
        {
            seen = Answer(name, token);
            return seen == _authority.KeyAuthorization;
        };
        var issued = await RunAsync("web.example.test");
        Assert.Equal(_authority.KeyAuthorization, seen);
        Assert.Equal(["web.example.test"], NamedCertificate.Load("x", issued.Chain, issued.Key).Names);
        Assert.False(_pending.HasHttp);
        Assert.DoesNotContain("PRIVATE", issued.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_name_is_proved_by_a_handshake_where_there_is_no_HTTP()
    {
        ServerCertificate? shown = null;
        _authority.Visit = (_, name, _) => (shown = _pending.FindTls(name)) is not null;
        await RunAsync("web.example.test", settings:
        [
            "Public:HttpsListen=127.0.0.1:0", "Acme:Directory=letsencrypt", "Acme:AcceptTerms=true", "Acme:Challenge=tls-alpn-01",
        ]);
        Assert.NotNull(shown);
        Assert.False(_pending.HasTls);
        Assert.Null(_pending.FindTls("web.example.test"));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(11)]
    public async Task Nonces_that_are_refused_are_replaced(int times)
    {
        _authority.BadNonces = times;
        await RunAsync("web.example.test");
    }

    [Fact]
    public async Task An_authority_that_refuses_every_nonce_is_given_up()
    {
        _authority.BadNonces = int.MaxValue;
        Assert.Contains("badNonce", (await FailAsync()).Message, StringComparison.Ordinal);
        Assert.InRange(_authority.Asked.Count, 3, 16);
    }

    [Fact]
    public async Task A_name_that_the_authority_cannot_reach_is_refused_with_its_words()
    {
        _authority.Visit = static (_, _, _) => false;
        var failure = await FailAsync();
        Assert.Contains("x:unauthorized no", failure.Message, StringComparison.Ordinal);
        Assert.False(failure.IsOfServer);
        Assert.False(_pending.HasHttp);
    }

    [Fact]
    public async Task An_account_that_the_authority_knows_is_proved_by_its_key()
    {
        var secret = RandomNumberGenerator.GetBytes(32);
        _authority.Eab = ("me", secret);
        Assert.Contains("EabKeyId", (await FailAsync()).Message, StringComparison.Ordinal);
        await RunAsync("web.example.test", eab: new AcmeEab("me", secret));
    }

    [Fact]
    public async Task An_account_that_is_not_mine_is_refused_and_its_key_is_in_no_message()
    {
        _authority.Eab = ("me", RandomNumberGenerator.GetBytes(32));
        var eab = new AcmeEab("me", RandomNumberGenerator.GetBytes(32));
        var failure = await Assert.ThrowsAsync<AcmeException>(() => RunAsync("web.example.test", eab: eab));
        Assert.Contains("not your account", failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain(Convert.ToBase64String(eab.Key), failure.ToString() + eab, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_order_that_never_ends_is_given_up()
    {
        _authority.NeverEnds = true;
        Assert.Contains("15 min", (await FailAsync()).Message, StringComparison.Ordinal);
        Assert.False(_pending.HasHttp);

        // Not as fast as it can be asked.
        Assert.InRange(_authority.Asked.Count, 10, 500);
    }

    [Fact]
    public async Task An_order_that_never_ends_gives_way_to_other_names()
    {
        _authority.NeverEnds = true;
        var began = _time.GetTimestamp();
        var failure = await Assert.ThrowsAsync<AcmeException>(() => RunAsync("web.example.test", othersWait: static () => true));
        Assert.Contains("3 min", failure.Message, StringComparison.Ordinal);
        Assert.False(failure.IsOfServer);
        Assert.InRange(_time.GetElapsedTime(began), TimeSpan.FromMinutes(3), TimeSpan.FromMinutes(4));
        Assert.False(_pending.HasHttp);
    }

    [Fact]
    public async Task An_authority_that_does_not_answer_is_given_up()
    {
        _authority.Instead = static (_, cancelled) => StallAsync(cancelled);
        var failure = await FailAsync();
        Assert.Contains("30 s", failure.Message, StringComparison.Ordinal);
        Assert.True(failure.IsOfServer);
    }

    [Theory]
    [InlineData("/dir")]
    [InlineData("/order/1")]
    [InlineData("/certificate/1")]
    public async Task An_answer_of_64_MB_is_not_read_to_its_end(string path)
    {
        var endless = new EndlessStream(64 * 1024 * 1024);
        _authority.Instead = (request, _) => request.RequestUri!.AbsolutePath != path ? null : Task.FromResult(
            new HttpResponseMessage
            {
                Content = new StreamContent(endless) { Headers = { ContentType = new("application/json") } },
            });
        Assert.Contains("1024 KiB", (await FailAsync()).Message, StringComparison.Ordinal);
        Assert.InRange(endless.Taken, 1, 2 * AcmeTransport.MaxBody);
    }

    [Theory]
    [InlineData("/dir", 200, "text/html", "<html>", "not JSON")]
    [InlineData("/dir", 200, "application/json", "{", "not valid JSON")]
    [InlineData("/dir", 200, "application/json", "[]", "not a JSON object")]
    [InlineData("/dir", 200, "application/json", "{}", "newNonce")]
    [InlineData("/dir", 200, "application/json", "{\"newNonce\":\"http://ca.test/\"}", "newNonce")]
    [InlineData("/dir", 200, "application/json", "{\"newNonce\":7}", "newNonce")]
    [InlineData("/dir", 302, "text/plain", "", "status 302")]
    [InlineData("/nonce", 200, "text/plain", "", "no nonce")]
    [InlineData("/account", 500, "application/problem+json", "{\"type\":\"a\\u001b[31m\",\"detail\":7}", "status 500")]
    [InlineData("/account", 200, "application/json", "{}", "URL of the account")]
    [InlineData("/order", 201, "application/json", "{}", "no https URL")]
    [InlineData("/auth/1", 200, "application/json", "{\"status\":\"valid\"}", "another name")]
    [InlineData("/auth/1", 200, "application/json", "{\"identifier\":{\"value\":\"WEB.example.test\"}}", "offers no")]
    [InlineData("/dir", 200, "application/json", "{\"newNonce\":\"\\ud800\"}", "newNonce")]
    [InlineData("/account", 400, "application/problem+json", "{\"type\":\"\\udfff\",\"detail\":\"\\ud800\"}", "status 400")]
    [InlineData("/order", 201, "application/json", "{\"authorizations\":[\"\\ud800\"]}", "no https URL")]
    [InlineData("/auth/1", 200, "application/json", "{\"identifier\":{\"value\":\"\\ud800\"}}", "another name")]
    [InlineData("/certificate/1", 200, "text/html", "<html>", "not PEM")]
    [InlineData("/certificate/1", 200, "application/pem-certificate-chain", "nothing", "cannot be used")]
    public async Task An_answer_that_makes_no_sense_is_refused(string path, int status, string type, string body, string words)
    {
        _authority.Instead = (request, _) => request.RequestUri!.AbsolutePath != path ? null : Task.FromResult(
            FakeAuthority.Answer(status, type, body));
        var message = (await FailAsync()).Message;
        Assert.Contains(words, message, StringComparison.Ordinal);
        Assert.DoesNotContain(message, char.IsControl);
    }

    [Theory]
    [InlineData("../../etc/passwd")]
    [InlineData("a b")]
    [InlineData("")]
    public async Task A_token_that_is_none_is_not_shown(string token)
    {
        _authority.Token = token;
        Assert.Contains("token", (await FailAsync()).Message, StringComparison.Ordinal);
        Assert.False(_pending.HasHttp);
    }

    [Fact]
    public async Task A_certificate_for_other_names_another_key_or_another_time_is_refused()
    {
        _authority.IssuedName = static _ => "evil.test";
        Assert.Contains("other names", (await FailAsync()).Message, StringComparison.Ordinal);
        _authority.IssuedName = static name => name;
        using var other = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        _authority.IssuedKey = other;
        Assert.Contains("cannot be used", (await FailAsync()).Message, StringComparison.Ordinal);
        _authority.IssuedKey = null;
        _authority.Life = (TimeSpan.FromDays(-9), TimeSpan.FromDays(-1));
        Assert.Contains("not valid now", (await FailAsync()).Message, StringComparison.Ordinal);
        _authority.Life = (TimeSpan.FromDays(9), TimeSpan.FromDays(90));
        Assert.Contains("not valid now", (await FailAsync()).Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_certificate_for_ten_thousand_names_is_refused()
    {
        _authority.FurtherNames = 10_000;
        Assert.Contains("more than 1000 names", (await FailAsync()).Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_authorization_for_another_name_is_refused()
    {
        _authority.AuthorizedName = static _ => "evil.test";
        Assert.Contains("another name", (await FailAsync()).Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task The_wait_that_the_authority_asks_for_is_known_and_not_negative()
    {
        _authority.Instead = (request, _) =>
        {
            var answer = FakeAuthority.Answer(429, "application/problem+json", "{\"type\":\"urn:ietf:params:acme:error:rateLimited\"}");
            answer.Headers.RetryAfter = new(_time.GetUtcNow().AddHours(request.Method == HttpMethod.Get ? 3 : -3));
            return Task.FromResult(answer);
        };
        var failure = await FailAsync();
        Assert.Equal((TimeSpan.FromHours(3), true), (failure.RetryAfter, failure.IsOfServer));
    }

    [Fact]
    public void The_id_of_a_certificate_is_that_of_RFC_9773()
    {
        // The example of section 4.1: its serial number begins with a bit that is set.
        byte[] issuer = Convert.FromHexString("69885B6B87464041E1B37B847BA0AE2CDE01C8D4");
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=example.com", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(X509AuthorityKeyIdentifierExtension.CreateFromSubjectKeyIdentifier(issuer));
        using var certificate = request.Create(
            new X500DistinguishedName("CN=Example CA"), X509SignatureGenerator.CreateForECDsa(key), _time.GetUtcNow(),
            _time.GetUtcNow().AddDays(1), [0x87, 0x65, 0x43, 0x21]);
        Assert.Equal("aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE", RenewalInfo.IdOf(certificate.ExportCertificatePem()));
    }

    public void Dispose()
    {
        _transport.Dispose();
        _authority.Dispose();
        _key.Dispose();
    }

    /// <summary>The answer that a visit of the authority would read.</summary>
    private string? Answer(string name, string token) =>
        _pending.FindAnswer(new ScriptedVisitor { Host = name, Path = "/.well-known/acme-challenge/" + token }) is { } answer
            ? Encoding.ASCII.GetString(answer.Body.Span)
            : null;

    private Task<AcmeException> FailAsync() => Assert.ThrowsAsync<AcmeException>(() => RunAsync("web.example.test"));

    private async Task<IssuedCertificate> RunAsync(
        string name, string[]? settings = null, AcmeEab? eab = null, Func<bool>? othersWait = null)
    {
        var client = new AcmeClient(_transport, FakeAuthority.Directory, new AcmeAccount(_key, "me@example.test", eab), _time);
        var prover = new ChallengeProver(SettingsFixture.LoadValid(settings ?? []), _pending, null, _time);
        var running = new CertificateOrder(client, prover, _time, othersWait).RunAsync(name, null, CancellationToken.None);
        for (var second = 0; second < 2000 && !running.IsCompleted; second++)
        {
            _time.Advance(TimeSpan.FromSeconds(1));
            await Task.Yield();
        }

        return await running.WaitAsync(TimeSpan.FromSeconds(20));
    }

    private static async Task<HttpResponseMessage> StallAsync(CancellationToken cancelled)
    {
        var never = new TaskCompletionSource<HttpResponseMessage>();
        await using var registered = cancelled.Register(() => never.TrySetCanceled(cancelled));
        return await never.Task;
    }

    /// <summary>So many bytes, which are not kept.</summary>
    private sealed class EndlessStream(long length) : Stream
    {
        public long Taken { get; private set; }

        public override bool CanRead => true;

        public override bool CanSeek => false;

        public override bool CanWrite => false;

        public override long Length => throw new NotSupportedException();

        public override long Position
        {
            get => Taken;
            set => throw new NotSupportedException();
        }

        public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

        /// <summary>At once, so that the test's clock does not run ahead of it.</summary>
        public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
        {
            var read = (int)Math.Min(buffer.Length, length - Taken);
            buffer.Span[..read].Fill((byte)' ');
            Taken += read;
            return new(read);
        }

        public override void Flush()
        {
        }

        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

        public override void SetLength(long value) => throw new NotSupportedException();

        public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();
    }
}
