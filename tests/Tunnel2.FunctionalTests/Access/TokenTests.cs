using System.Net;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Fronts;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;
using Tunnel2.TestUtilities.Tokens;

namespace Tunnel2.FunctionalTests.Access;

/// <summary>Tunnels whose visitors show a token (JWT), with an issuer that answers over HTTP.</summary>
[Trait("Engine", "each")]
public sealed class TokenTests
{
    private const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    private static readonly TestSigningKey _key = TestSigningKey.Ec("k1", ECCurve.NamedCurves.nistP256);

    public static TheoryData<string> Kinds => [.. FrontVisitor.Kinds];

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task Who_shows_a_token_passes_and_the_service_gets_the_token_and_the_user(string kind)
    {
        await using var issuer = new HttpIssuer(TestSigningKey.ToSet(_key.ToJwk()));
        var heads = new List<RawHttpHead>();
        await FrontVisitor.RunAsync(
            kind,
            options => With(options, issuer.Name),
            [$"Access:JwtIssuers={issuer.Name}"],
            service => ServeAsync(service, heads.Add),
            async visitor =>
            {
                var token = issuer.Token();
                for (var i = 0; i < 3; i++)
                {
                    await ExpectAsync(visitor, token, HttpStatusCode.OK);
                }

                await ExpectAsync(visitor, null, HttpStatusCode.Unauthorized, "token-required", "Bearer realm=\"Tunnel2\"");
                const string Invalid = "Bearer realm=\"Tunnel2\", error=\"invalid_token\"";
                await ExpectAsync(visitor, "a.b.c", HttpStatusCode.Unauthorized, "token-invalid", Invalid);
                await ExpectAsync(visitor, "secret", HttpStatusCode.Unauthorized, "token-invalid", Invalid);
                foreach (var length in new[] { 8 * 1024, 9 * 1024, 20 * 1024 })
                {
                    await ExpectAsync(visitor, $"a.{new string('b', length)}.c", HttpStatusCode.Unauthorized, "token-invalid", Invalid);
                }

                await ExpectAsync(
                    visitor, issuer.Token(("aud", "other")), HttpStatusCode.Unauthorized, "token-invalid", Invalid);
                await ExpectAsync(
                    visitor, issuer.Token(("exp", 1_000_000_000)), HttpStatusCode.Unauthorized, "token-expired",
                    Invalid + ", error_description=\"The token has expired\"");
            });
        Assert.Equal(3, heads.Count);
        Assert.All(heads, static head =>
        {
            Assert.Equal(["alice@id"], head.All("X-Tunnel2-User"));
            Assert.StartsWith("Bearer ey", head["Authorization"], StringComparison.Ordinal);
        });

        // The discovery document and the keys, once for all requests.
        Assert.Equal(["/.well-known/openid-configuration", "/keys"], issuer.Asked);
    }

    [Fact]
    public async Task Tokens_that_the_server_asks_for_hold_for_an_agent_that_asks_for_none()
    {
        await using var issuer = new HttpIssuer(TestSigningKey.ToSet(_key.ToJwk()));
        await TunnelFixture.RunAsync(
            static service => ServeAsync(service, static _ => { }),
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                Assert.Equal(401, (await visitor.ExchangeAsync("/", TunnelFixture.Host)).Head.StatusCode);
                var login = $"Authorization: bearer {issuer.Token()}\r\n";
                Assert.Equal(200, (await visitor.ExchangeAsync("/", TunnelFixture.Host, fields: login)).Head.StatusCode);
                Assert.Equal(["/keys"], issuer.Asked);
            },
            new TunnelSetup
            {
                Settings =
                [
                    "Agents:a:TokenHash=" + EntryTokens.HashSetting("t"), $"Agents:a:JwtIssuer={issuer.Name} {issuer.Name}/keys",
                    "Agents:a:JwtAudience=web",
                ],
                Agent = static options => options with { Token = "t" },
            });
    }

    [Fact]
    public async Task A_websocket_needs_the_token_too()
    {
        await using var issuer = new HttpIssuer(TestSigningKey.ToSet(_key.ToJwk()));
        await TunnelFixture.RunAsync(
            static async service =>
            {
                Assert.Equal("alice@id", (await service.ReadHeadAsync())["X-Tunnel2-User"]);
                await service.WriteAsync("HTTP/1.1 101 Switching Protocols\r\nUpgrade: raw\r\nConnection: Upgrade\r\n\r\nhello");
                await service.CloseAsync();
            },
            async tunnel =>
            {
                const string Upgrade = "Connection: Upgrade\r\nUpgrade: raw\r\n";
                await using var stranger = await tunnel.ConnectAsync();
                var (head, _) = await stranger.ExchangeAsync("/", TunnelFixture.Host, fields: Upgrade);
                Assert.Equal((401, "token-required"), (head.StatusCode, head["Tunnel2-Error"]));
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.SendRequestAsync("/", TunnelFixture.Host, fields: $"{Upgrade}Authorization: Bearer {issuer.Token()}\r\n");
                Assert.Equal(101, (await visitor.ReadHeadAsync()).StatusCode);
                Assert.Equal("hello"u8.ToArray(), await visitor.ReadExactlyAsync(5));
            },
            new TunnelSetup { Settings = [$"Access:JwtIssuers={issuer.Name}"], Agent = options => With(options, issuer.Name) });
    }

    [Fact]
    public async Task Where_the_keys_are_not_available_the_visitor_is_asked_to_come_again()
    {
        await using var issuer = new HttpIssuer(null);
        await TunnelFixture.RunAsync(
            static _ => throw new InvalidOperationException("Nothing may reach the service."),
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                var (head, _) = await visitor.ExchangeAsync(
                    "/", TunnelFixture.Host, fields: $"Authorization: Bearer {issuer.Token()}\r\n");
                Assert.Equal((503, "token-unchecked", "2"), (head.StatusCode, head["Tunnel2-Error"], head["Retry-After"]));
            },
            new TunnelSetup { Settings = [$"Access:JwtIssuers={issuer.Name}"], Agent = options => With(options, issuer.Name) });
    }

    [Theory]
    [InlineData("", "https://id.example", "is not in Tunnel2:Access:JwtIssuers")]
    [InlineData("Access:JwtIssuers=https://id.example/", "https://id.example", "is not in Tunnel2:Access:JwtIssuers")]
    [InlineData(
        "Agents:a:JwtIssuer=https://id.example|Agents:a:JwtAudience=web", "https://id.example", "is not in Tunnel2:Access:JwtIssuers")]
    [InlineData(
        "Access:JwtIssuers=https://id.example|Agents:a:JwtIssuer=https://other.example|Agents:a:JwtAudience=web",
        "https://id.example", "a visitor shows only one")]
    [InlineData("Agents:a:JwtIssuer=https://id.example|Agents:a:JwtAudience=web", null, "cannot show both")]
    public async Task Rules_that_the_server_cannot_keep_are_refused_with_the_reason(string settings, string? issuer, string reason)
    {
        await using var entry = await EntryFixture.StartAsync(
            null,
            ["Agents:a:TokenHash=" + EntryTokens.HashSetting("t"), .. settings.Split('|', StringSplitOptions.RemoveEmptyEntries)]);
        var options = AgentFixture.Options(entry.Uplink.Port, 1) with { Token = "t" };
        await using var agent = AgentFixture.Start(issuer is not null ? With(options, issuer) : options with
        {
            Access = new AccessRules { Users = [new AccessUser("a", PasswordHash.Create("p", PasswordHash.LeastIterations))] },
        });
        Assert.Equal(AgentExitCode.Rejected, await agent.Completion);
        var end = Assert.Single(agent.Events.Ends);
        Assert.Equal(RejectionReason.AccessUnsupported, end.Rejection!.Reason);
        Assert.Contains(reason, end.Message, StringComparison.Ordinal);
    }

    private static AgentOptions With(AgentOptions options, string issuer) =>
        options with { Access = new AccessRules { Tokens = new AccessTokens(issuer, "web") } };

    private static async Task ExpectAsync(
        FrontVisitor visitor, string? token, HttpStatusCode status, string? code = null, string? challenge = null)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, "/")
        {
            Version = visitor.Version,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        request.Headers.Authorization = token is null ? null : new AuthenticationHeaderValue("Bearer", token);
        request.Headers.TryAddWithoutValidation("X-Tunnel2-User", "root");
        using var answer = await visitor.Client.SendAsync(request);
        Assert.Equal(status, answer.StatusCode);
        if (code is not null)
        {
            Assert.Equal(code, Assert.Single(answer.Headers.GetValues("Tunnel2-Error")));
            Assert.Equal(challenge, string.Join(", ", answer.Headers.GetValues("WWW-Authenticate")));
        }
    }

    private static async Task ServeAsync(RawConnection service, Action<RawHttpHead> heard)
    {
        while (true)
        {
            RawHttpHead head;
            try
            {
                head = await service.ReadHeadAsync();
            }
            catch (RawConnectionEndedException)
            {
                return;
            }

            heard(head);
            await service.WriteAsync(Ok);
        }
    }

    /// <summary>An issuer on loopback.</summary>
    private sealed class HttpIssuer : IAsyncDisposable
    {
        private readonly List<string> _asked = [];
        private readonly RawTcpServer _server;

        /// <param name="keys">Its keys; null: it fails.</param>
        public HttpIssuer(string? keys) => _server = RawTcpServer.Start(async connection =>
        {
            while (true)
            {
                string target;
                try
                {
                    target = (await connection.ReadHeadAsync()).Target;
                }
                catch (RawConnectionEndedException)
                {
                    return;
                }

                lock (_asked)
                {
                    _asked.Add(target);
                }

                var body = target == "/keys" ? keys : $$"""{"issuer":"{{Name}}","jwks_uri":"{{Name}}/keys"}""";
                await connection.WriteAsync(body is null
                    ? "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"
                    : $"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {body.Length}\r\n\r\n{body}");
            }
        });

        public string Name => $"http://127.0.0.1:{_server.Port}";

        public string[] Asked
        {
            get
            {
                lock (_asked)
                {
                    return [.. _asked];
                }
            }
        }

        public string Token(params (string Name, object Value)[] members)
        {
            var claims = new Dictionary<string, object>
            {
                ["iss"] = Name,
                ["aud"] = "web",
                ["sub"] = "alice@id",
                ["exp"] = DateTimeOffset.UtcNow.ToUnixTimeSeconds() + 300,
            };
            foreach (var (name, value) in members)
            {
                claims[name] = value;
            }

            return _key.Sign("ES256", claims);
        }

        public ValueTask DisposeAsync() => _server.DisposeAsync();
    }
}
