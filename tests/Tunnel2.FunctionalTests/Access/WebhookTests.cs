using System.Net;
using System.Security.Cryptography;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Fronts;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Access;

/// <summary>Tunnels that take signed requests only, with real visitors of every kind.</summary>
[Trait("Engine", "each")]
public sealed class WebhookTests
{
    private const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    private static readonly byte[] _secret = "It's a Secret to Everybody"u8.ToArray();

    public static TheoryData<string> Kinds => [.. FrontVisitor.Kinds];

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task A_signed_body_arrives_whole_and_any_other_never(string kind)
    {
        var bodies = new List<byte[]>();
        await FrontVisitor.RunAsync(
            kind,
            WithSignature,
            [],
            service => ServeAsync(service, bodies),
            async visitor =>
            {
                foreach (var isChunked in new[] { false, true })
                {
                    foreach (var length in new[] { 0, 1, 16 * 1024, 100_000 })
                    {
                        var body = Bytes(length);
                        Assert.Equal(200, await PostAsync(visitor, body, Sign(body), isChunked));
                        Assert.Equal(403, await PostAsync(visitor, body, Sign([.. body, 1]), isChunked));
                        Assert.Equal(403, await PostAsync(visitor, body, null, isChunked));
                    }
                }

                using var get = new HttpRequestMessage(HttpMethod.Get, "/")
                {
                    Version = visitor.Version,
                    VersionPolicy = HttpVersionPolicy.RequestVersionExact,
                };
                using var refused = await visitor.Client.SendAsync(get);
                Assert.Equal("webhook-signature", Assert.Single(refused.Headers.GetValues("Tunnel2-Error")));
            });
        Assert.Equal([0, 1, 16 * 1024, 100_000, 0, 1, 16 * 1024, 100_000], bodies.Select(static body => body.Length));
        Assert.All(bodies, static body => Assert.Equal(Bytes(body.Length), body));
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public Task A_body_beyond_the_limit_is_refused_declared_or_not(string kind) => FrontVisitor.RunAsync(
        kind,
        WithSignature,
        ["Access:WebhookBodyBytes=4096"],
        static service => ServeAsync(service, []),
        async visitor =>
        {
            foreach (var isChunked in new[] { false, true })
            {
                var body = new byte[4096];
                Assert.Equal(200, await PostAsync(visitor, body, Sign(body), isChunked));
                body = new byte[4097];
                Assert.Equal(413, await PostAsync(visitor, body, Sign(body), isChunked));
            }
        });

    [Fact]
    public Task Who_waits_for_a_100_gets_it_and_then_its_answer() => TunnelFixture.RunAsync(
        static service => ServeAsync(service, []),
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            foreach (var (signature, status) in new[] { (Sign("hello"u8), 200), (Sign("other"u8), 403) })
            {
                await visitor.SendRequestAsync(
                    "/", TunnelFixture.Host, "POST", $"Content-Length: 5\r\nExpect: 100-continue\r\nX-Hub-Signature-256: {signature}\r\n");
                Assert.Equal(100, (await visitor.ReadHeadAsync()).StatusCode);
                await visitor.WriteAsync("hello");
                var head = await visitor.ReadHeadAsync();
                Assert.Equal(status, head.StatusCode);
                await visitor.ReadBodyAsync(head);
            }

            // Without a signature nothing is asked for.
            await visitor.SendRequestAsync("/", TunnelFixture.Host, "POST", "Content-Length: 5\r\nExpect: 100-continue\r\n");
            Assert.Equal(403, (await visitor.ReadHeadAsync()).StatusCode);
        },
        new TunnelSetup { Agent = WithSignature });

    [Fact]
    public Task Trailers_and_the_next_request_follow_a_held_body() => TunnelFixture.RunAsync(
        static async service =>
        {
            var head = await service.ReadHeadAsync();
            var body = await service.ReadBodyAsync(head, head.Method);
            Assert.Equal("hello", body.Text);
            await service.WriteAsync(Ok);
            await ServeAsync(service, []);
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync(
                "/", TunnelFixture.Host, "POST", $"Transfer-Encoding: chunked\r\nX-Hub-Signature-256: {Sign("hello"u8)}\r\n");
            await visitor.WriteAsync("2\r\nhe\r\n3\r\nllo\r\n0\r\nX-Sum: 1\r\n\r\n");
            var head = await visitor.ReadHeadAsync();
            Assert.Equal(200, head.StatusCode);
            await visitor.ReadBodyAsync(head);
            await visitor.SendRequestAsync(
                "/", TunnelFixture.Host, "POST", $"Content-Length: 5\r\nX-Hub-Signature-256: {Sign("hello"u8)}\r\n");
            await visitor.WriteAsync("hello");
            Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
        },
        new TunnelSetup { Agent = WithSignature });

    [Fact]
    public Task Upgrades_are_not_signed_and_signatures_twice_are_none() => TunnelFixture.RunAsync(
        static _ => throw new InvalidOperationException("Nothing may reach the service."),
        async tunnel =>
        {
            foreach (var fields in new[]
            {
                $"Connection: Upgrade\r\nUpgrade: raw\r\nX-Hub-Signature-256: {Sign([])}\r\n",
                $"X-Hub-Signature-256: {Sign([])}\r\nX-Hub-Signature-256: {Sign([])}\r\n",
            })
            {
                await using var visitor = await tunnel.ConnectAsync();
                var (head, _) = await visitor.ExchangeAsync("/", TunnelFixture.Host, fields: fields);
                Assert.Equal((403, "webhook-signature"), (head.StatusCode, head["Tunnel2-Error"]));
            }
        },
        new TunnelSetup { Agent = WithSignature });

    private static AgentOptions WithSignature(AgentOptions options) => options with
    {
        Access = new AccessRules { Webhook = new WebhookRule(WebhookProvider.GitHub, [_secret]) },
    };

    private static byte[] Bytes(int length)
    {
        var bytes = new byte[length];
        new Random(length).NextBytes(bytes);
        return bytes;
    }

    private static string Sign(ReadOnlySpan<byte> body) => "sha256=" + Convert.ToHexStringLower(HMACSHA256.HashData(_secret, body));

    private static async Task<int> PostAsync(FrontVisitor visitor, byte[] body, string? signature, bool isChunked)
    {
        using var request = new HttpRequestMessage(HttpMethod.Post, "/hook")
        {
            Version = visitor.Version,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = isChunked && visitor.Version == HttpVersion.Version20
                ? new StreamContent(new UnknownLength(body))
                : new ByteArrayContent(body),
        };
        request.Headers.TransferEncodingChunked = isChunked && visitor.Version == HttpVersion.Version11 ? true : null;
        if (signature is not null)
        {
            request.Headers.TryAddWithoutValidation("X-Hub-Signature-256", signature);
        }

        using var answer = await visitor.Client.SendAsync(request);
        return (int)answer.StatusCode;
    }

    private static async Task ServeAsync(RawConnection service, List<byte[]> bodies)
    {
        while (true)
        {
            try
            {
                var head = await service.ReadHeadAsync();
                bodies.Add((await service.ReadBodyAsync(head, head.Method)).Bytes);
            }
            catch (RawConnectionEndedException)
            {
                return;
            }

            await service.WriteAsync(Ok);
        }
    }

    /// <summary>A stream of unknown length.</summary>
    private sealed class UnknownLength(byte[] bytes) : MemoryStream(bytes)
    {
        public override bool CanSeek => false;
    }
}
