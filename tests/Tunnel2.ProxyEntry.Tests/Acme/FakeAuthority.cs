using System.Buffers.Text;
using System.Collections.Concurrent;
using System.Net;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using System.Text.Json;

namespace Tunnel2.ProxyEntry.Tests.Acme;

/// <summary>
/// A certificate authority in memory (RFC 8555). It checks what it is sent, and lies where a test says so. It answers at once, on the
/// caller's thread. Clients that dispose of it do it no harm. Thread-safe.
/// </summary>
internal sealed class FakeAuthority : HttpMessageHandler
{
    private const string Origin = "https://ca.test/";

    private readonly Lock _gate = new();
    private readonly X509Certificate2 _root;
    private readonly HashSet<string> _nonces = [];
    private readonly ConcurrentQueue<string> _asked = new();
    private readonly TimeProvider _time;
    private string _name = "";
    private string _state = "pending";
    private X509Certificate2? _issued;
    private ECDsa? _account;
    private int _serial;

    public FakeAuthority(TimeProvider time)
    {
        _time = time;
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=fake authority", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, true));
        request.CertificateExtensions.Add(new X509SubjectKeyIdentifierExtension(request.PublicKey, false));
        _root = request.CreateSelfSigned(time.GetUtcNow().AddYears(-1), new DateTimeOffset(9999, 12, 31, 23, 59, 59, TimeSpan.Zero));
    }

    public static Uri Directory { get; } = new(Origin + "dir");

    /// <summary>Paths that were asked for, in order, with the method.</summary>
    public IReadOnlyList<string> Asked => [.. _asked];

    /// <summary>How many certificates were ordered.</summary>
    public int Orders => _asked.Count(static line => line == "POST /order");

    /// <summary>How many requests are refused for their nonce, though it is good.</summary>
    public int BadNonces { get; set; }

    /// <summary>Answers in place of the authority; null: it answers itself.</summary>
    public Func<HttpRequestMessage, CancellationToken, Task<HttpResponseMessage>?> Instead { get; set; } = static (_, _) => null;

    /// <summary>Whether the visit of a challenge succeeds: its kind, name, token.</summary>
    public Func<string, string, string, bool> Visit { get; set; } = static (_, _, _) => true;

    /// <summary>The name of the authorization, where it is another one.</summary>
    public Func<string, string> AuthorizedName { get; set; } = static name => name;

    /// <summary>The token of challenges.</summary>
    public string Token { get; set; } = "evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA";

    /// <summary>Whether orders stay as they are, after any call.</summary>
    public bool NeverEnds { get; set; }

    /// <summary>Names of the certificate, where they are others.</summary>
    public Func<string, string> IssuedName { get; set; } = static name => name;

    /// <summary>How many further names the certificate gets.</summary>
    public int FurtherNames { get; set; }

    /// <summary>The key that the certificate is issued for, where it is another one.</summary>
    public ECDsa? IssuedKey { get; set; }

    /// <summary>The life of certificates, from now.</summary>
    public (TimeSpan From, TimeSpan To) Life { get; set; } = (TimeSpan.FromHours(-1), TimeSpan.FromDays(90));

    /// <summary>What is returned as certificate, where it is something else.</summary>
    public string? Chain { get; set; }

    /// <summary>The window of renewal information; null: there is none.</summary>
    public (DateTimeOffset Start, DateTimeOffset End)? Window { get; set; }

    /// <summary>The account that it wants, or null.</summary>
    public (string KeyId, byte[] Key)? Eab { get; set; }

    /// <summary>The payload of the last order.</summary>
    public string LastOrder { get; private set; } = "";

    /// <summary>What the answer to a challenge has to be.</summary>
    public string? KeyAuthorization { get; private set; }

    /// <summary>An answer of a type.</summary>
    public static HttpResponseMessage Answer(int status, string type, string body)
    {
        var response = new HttpResponseMessage((HttpStatusCode)status) { Content = new ByteArrayContent(Encoding.UTF8.GetBytes(body)) };
        response.Content.Headers.ContentType = new MediaTypeHeaderValue(type);
        return response;
    }

    protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken)
    {
        lock (_gate)
        {
            _asked.Enqueue($"{request.Method} {request.RequestUri!.AbsolutePath}");
            if (Instead(request, cancellationToken) is { } other)
            {
                return other;
            }

            var response = Serve(request);
            if (request.Method != HttpMethod.Get)
            {
                var nonce = Base64Url.EncodeToString(RandomNumberGenerator.GetBytes(12));
                _nonces.Add(nonce);
                response.Headers.Add("Replay-Nonce", nonce);
            }

            return Task.FromResult(response);
        }
    }

    private HttpResponseMessage Serve(HttpRequestMessage request)
    {
        var path = request.RequestUri!.AbsolutePath;
        if (request.Method == HttpMethod.Get)
        {
            return path == "/dir" ? Answer(200, "application/json", DirectoryJson())
                : path.StartsWith("/ari/", StringComparison.Ordinal) && Window is { } window
                    ? Answer(200, "application/json", WindowJson(window.Start, window.End))
                    : Answer(404, "text/plain", "");
        }

        if (request.Method == HttpMethod.Head)
        {
            return Answer(200, "text/plain", "");
        }

        Assert.Equal("application/jose+json", request.Content!.Headers.ContentType!.MediaType);
        using var jws = JsonDocument.Parse(request.Content.ReadAsByteArrayAsync().GetAwaiter().GetResult());
        using var head = JsonDocument.Parse(Decode(jws.RootElement, "protected"));
        Assert.Equal(request.RequestUri.AbsoluteUri, head.RootElement.GetProperty("url").GetString());
        if (!_nonces.Remove(head.RootElement.GetProperty("nonce").GetString()!) || BadNonces-- > 0)
        {
            return Problem(400, "badNonce", "this nonce is not good");
        }

        Verify(jws.RootElement, head.RootElement);
        var payload = Encoding.UTF8.GetString(Decode(jws.RootElement, "payload"));
        return path switch
        {
            "/account" => MakeAccount(payload),
            "/order" => Order(payload),
            "/order/1" => Answer(200, "application/json", OrderJson()),
            "/auth/1" => Answer(200, "application/json", AuthorizationJson()),
            "/challenge/1" => Challenge(),
            "/finalize/1" => FinishOrder(payload),
            "/certificate/1" => Answer(
                200, "application/pem-certificate-chain", Chain ?? _issued!.ExportCertificatePem() + "\n" + _root.ExportCertificatePem()),
            _ => Problem(404, "malformed", "no such thing"),
        };
    }

    private static string WindowJson(DateTimeOffset start, DateTimeOffset end) =>
        $$$"""{"suggestedWindow":{"start":"{{{start:O}}}","end":"{{{end:O}}}"}}""";

    private string DirectoryJson() =>
        $$$"""
        {"newNonce":"{{{Origin}}}nonce","newAccount":"{{{Origin}}}account","newOrder":"{{{Origin}}}order",
         "renewalInfo":"{{{Origin}}}ari","meta":{"externalAccountRequired":{{{(Eab is null ? "false" : "true")}}}}}
        """;

    private HttpResponseMessage MakeAccount(string payload)
    {
        using var json = JsonDocument.Parse(payload);
        Assert.True(json.RootElement.GetProperty("termsOfServiceAgreed").GetBoolean());
        if (Eab is { } eab)
        {
            if (!json.RootElement.TryGetProperty("externalAccountBinding", out var binding))
            {
                return Problem(403, "externalAccountRequired", "who are you");
            }

            var signed = $"{binding.GetProperty("protected").GetString()}.{binding.GetProperty("payload").GetString()}";
            using var head = JsonDocument.Parse(Decode(binding, "protected"));
            if (head.RootElement.GetProperty("kid").GetString() != eab.KeyId
                || !Decode(binding, "signature").AsSpan().SequenceEqual(HMACSHA256.HashData(eab.Key, Encoding.ASCII.GetBytes(signed))))
            {
                return Problem(403, "unauthorized", "not your account");
            }
        }

        var response = Answer(201, "application/json", """{"status":"valid"}""");
        response.Headers.Location = new Uri(Origin + "account/1");
        return response;
    }

    private HttpResponseMessage Order(string payload)
    {
        using var json = JsonDocument.Parse(payload);
        (LastOrder, _state) = (payload, "pending");
        _name = json.RootElement.GetProperty("identifiers")[0].GetProperty("value").GetString()!;
        var response = Answer(201, "application/json", OrderJson());
        response.Headers.Location = new Uri(Origin + "order/1");
        return response;
    }

    private string OrderJson() =>
        $$"""
        {"status":"{{_state}}","authorizations":["{{Origin}}auth/1"],"finalize":"{{Origin}}finalize/1",
         "certificate":"{{Origin}}certificate/1"}
        """;

    private string AuthorizationJson()
    {
        var bare = _name.StartsWith("*.", StringComparison.Ordinal) ? _name[2..] : _name;
        var challenges = string.Join(
            ',',
            new[] { "http-01", "tls-alpn-01", "dns-01" }.Select(kind => $$$"""
                {"type":"{{{kind}}}","url":"{{{Origin}}}challenge/1","token":"{{{Token}}}",
                 "error":{"type":"x:unauthorized","detail":"no"}}
                """));
        var status = _state switch { "pending" => "pending", "invalid" => "invalid", _ => "valid" };
        return $$"""
            {"status":"{{status}}","identifier":{"type":"dns","value":"{{AuthorizedName(bare)}}"},"challenges":[{{challenges}}]}
            """;
    }

    private HttpResponseMessage Challenge()
    {
        if (!NeverEnds)
        {
            _state = Visit("", _name, Token) ? "ready" : "invalid";
        }

        return Answer(200, "application/json", "{}");
    }

    private HttpResponseMessage FinishOrder(string payload)
    {
        using var json = JsonDocument.Parse(payload);
        var asked = CertificateRequest.LoadSigningRequest(
            Base64Url.DecodeFromChars(json.RootElement.GetProperty("csr").GetString()), HashAlgorithmName.SHA256,
            CertificateRequestLoadOptions.UnsafeLoadCertificateExtensions);
        var request = new CertificateRequest(
            new X500DistinguishedName("CN=x"),
            IssuedKey is null ? asked.PublicKey : new PublicKey(IssuedKey),
            HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        var extension = asked.CertificateExtensions.OfType<X509SubjectAlternativeNameExtension>().Single();
        names.AddDnsName(IssuedName(extension.EnumerateDnsNames().Single()));
        for (var i = 0; i < FurtherNames; i++)
        {
            names.AddDnsName(FormattableString.Invariant($"n{i}.test"));
        }

        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(X509AuthorityKeyIdentifierExtension.CreateFromCertificate(_root, true, false));
        var now = _time.GetUtcNow();
        _issued = request.Create(_root, now + Life.From, now + Life.To, [0x90, (byte)++_serial]);
        _state = NeverEnds ? "processing" : "valid";
        return Answer(200, "application/json", OrderJson());
    }

    private void Verify(JsonElement jws, JsonElement head)
    {
        if (head.TryGetProperty("jwk", out var jwk))
        {
            _account = ECDsa.Create(new ECParameters
            {
                Curve = ECCurve.NamedCurves.nistP256,
                Q = new ECPoint { X = Decode(jwk, "x"), Y = Decode(jwk, "y") },
            });
            var (x, y) = (jwk.GetProperty("x").GetString(), jwk.GetProperty("y").GetString());
            var canonical = $$"""{"crv":"P-256","kty":"EC","x":"{{x}}","y":"{{y}}"}""";
            KeyAuthorization = Token + "." + Base64Url.EncodeToString(SHA256.HashData(Encoding.ASCII.GetBytes(canonical)));
        }
        else
        {
            Assert.Equal(Origin + "account/1", head.GetProperty("kid").GetString());
        }

        var signed = $"{jws.GetProperty("protected").GetString()}.{jws.GetProperty("payload").GetString()}";
        Assert.True(_account!.VerifyData(Encoding.ASCII.GetBytes(signed), Decode(jws, "signature"), HashAlgorithmName.SHA256));
    }

    private static HttpResponseMessage Problem(int status, string type, string detail) => Answer(
        status, "application/problem+json", $$"""{"type":"urn:ietf:params:acme:error:{{type}}","detail":"{{detail}}"}""");

    private static byte[] Decode(JsonElement parent, string name) => Base64Url.DecodeFromChars(parent.GetProperty(name).GetString());
}
