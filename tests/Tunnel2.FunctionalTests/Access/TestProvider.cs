using System.Buffers.Text;
using System.Security.Cryptography;
using System.Text;
using Tunnel2.TestUtilities;
using Tunnel2.TestUtilities.Tokens;

namespace Tunnel2.FunctionalTests.Access;

/// <summary>An OpenID Connect provider on loopback. The test is the user: it takes a code for what the server asked.</summary>
internal sealed class TestProvider : IAsyncDisposable
{
    /// <summary>One for all providers: to make it takes a fifth of a second of a processor, and a test asks only that it signs.</summary>
    private static readonly TestSigningKey _key = TestSigningKey.Rsa("p1");

    private readonly Lock _gate = new();
    private readonly Dictionary<string, (string Nonce, string Challenge, string RedirectUri)> _codes = [];
    private readonly RawTcpServer _server;
    private int _redeemed;

    public TestProvider() => _server = RawTcpServer.Start(async connection =>
    {
        while (true)
        {
            try
            {
                var head = await connection.ReadHeadAsync();
                var body = head["Content-Length"] is { } length
                    ? Encoding.UTF8.GetString(await connection.ReadExactlyAsync(int.Parse(length)))
                    : "";
                await connection.WriteAsync(Answer(head.Target, body));
            }
            catch (RawConnectionEndedException)
            {
                return;
            }
        }
    });

    public string Name => $"http://127.0.0.1:{_server.Port}";

    /// <summary>Claims to add to those of the user.</summary>
    public Dictionary<string, object> Claims { get; } = new() { ["email"] = "alice@example.com", ["email_verified"] = true };

    /// <summary>How many codes were redeemed.</summary>
    public int Redeemed => Volatile.Read(ref _redeemed);

    /// <summary>The user agrees: what the provider sends the browser back with.</summary>
    /// <param name="asked">The address that the server sent the browser to.</param>
    public string Agree(Uri asked)
    {
        var query = Parse(asked.Query.TrimStart('?'));
        Assert.Equal(("code", "tunnel", "S256"), (query["response_type"], query["client_id"], query["code_challenge_method"]));
        var code = Convert.ToHexStringLower(RandomNumberGenerator.GetBytes(8));
        lock (_gate)
        {
            _codes[code] = (query["nonce"], query["code_challenge"], query["redirect_uri"]);
        }

        return $"/.tunnel2/callback?code={code}&state={Uri.EscapeDataString(query["state"])}";
    }

    /// <summary>The page where a person agrees.</summary>
    private string PageOf(Uri asked)
    {
        var back = new Uri(new Uri(Parse(asked.Query.TrimStart('?'))["redirect_uri"]), Agree(asked));
        var page = $"<a id=agree href=\"{back.AbsoluteUri.Replace("&", "&amp;", StringComparison.Ordinal)}\">Agree</a>";
        return $"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {page.Length}\r\n\r\n{page}";
    }

    public ValueTask DisposeAsync() => _server.DisposeAsync();

    private static Dictionary<string, string> Parse(string form) => form.Split('&').Select(static pair => pair.Split('=', 2)).ToDictionary(
        static pair => pair[0], static pair => Uri.UnescapeDataString(pair[1].Replace('+', ' ')));

    private static string Json(string body, int status = 200) =>
        $"HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nContent-Length: {body.Length}\r\n\r\n{body}";

    private string Answer(string target, string body) => target switch
    {
        "/.well-known/openid-configuration" => Json(
            $$"""
            {"issuer":"{{Name}}","authorization_endpoint":"{{Name}}/auth","token_endpoint":"{{Name}}/token","jwks_uri":"{{Name}}/keys",
            "response_types_supported":["code"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["RS256"]}
            """),
        "/keys" => Json(TestSigningKey.ToSet(_key.ToJwk())),
        "/token" => Redeem(Parse(body)),
        _ when target.StartsWith("/auth?", StringComparison.Ordinal) => PageOf(new Uri(Name + target)),
        _ => Json("{}", 404),
    };

    private string Redeem(Dictionary<string, string> form)
    {
        (string Nonce, string Challenge, string RedirectUri) asked;
        lock (_gate)
        {
            if (!_codes.Remove(form["code"], out asked)
                || asked.RedirectUri != form["redirect_uri"]
                || asked.Challenge != Base64Url.EncodeToString(SHA256.HashData(Encoding.ASCII.GetBytes(form["code_verifier"])))
                || form["client_secret"] != "s3cret")
            {
                return Json("""{"error":"invalid_grant"}""", 400);
            }
        }

        Interlocked.Increment(ref _redeemed);
        var now = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        var claims = new Dictionary<string, object>
        {
            ["iss"] = Name,
            ["aud"] = "tunnel",
            ["sub"] = "1",
            ["iat"] = now,
            ["exp"] = now + 300,
            ["nonce"] = asked.Nonce,
        };
        foreach (var (name, value) in Claims)
        {
            claims[name] = value;
        }

        return Json($$"""{"access_token":"a","token_type":"Bearer","id_token":"{{_key.Sign("RS256", claims)}}"}""");
    }
}
