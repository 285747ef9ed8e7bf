using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Fronts;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Policies;

/// <summary>What a policy takes away from answers is in none of their parts: neither in interim heads nor in trailers.</summary>
[Trait("Engine", "each")]
public sealed class AnswerFieldsTests
{
    private const string Answer = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nX-Inner: 1\r\nx_inner: 1\r\n\r\n"
        + "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Inner: 2\r\n"
        + "Trailer: x-inner, X-Kept,X-Set\r\nTrailer: X-Inner\r\n\r\n"
        + "2\r\nok\r\n0\r\nX-Inner: 3\r\nx_inner: 3\r\nX-Set: 3\r\nX-Kept: 3\r\n\r\n";

    public static TheoryData<string> Kinds => [.. FrontVisitor.Kinds];

    [Theory]
    [MemberData(nameof(Kinds))]
    public Task Trailers_lose_them(string kind) => FrontVisitor.RunAsync(
        kind,
        WithPolicy,
        [],
        ServeAsync,
        static async visitor =>
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, visitor.Client.BaseAddress)
            {
                Version = visitor.Version,
                VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            };
            using var answer = await visitor.Client.SendAsync(request);
            Assert.Equal("ok", await answer.Content.ReadAsStringAsync());
            Assert.False(answer.Headers.Contains("X-Inner"));
            Assert.Equal("new", Assert.Single(answer.Headers.GetValues("X-Set")));
            Assert.Equal(["X-Kept"], answer.TrailingHeaders.Select(static field => field.Key), StringComparer.OrdinalIgnoreCase);

            // What is announced is what may come.
            Assert.Equal(["X-Kept"], answer.Headers.Trailer);
        });

    [Fact]
    public Task Interim_heads_lose_them() => TunnelFixture.RunAsync(
        ServeAsync,
        static async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync("/", TunnelFixture.Host);
            Assert.Equal("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", (await visitor.ReadHeadAsync()).Text);
            Assert.Equal(["new"], (await visitor.ReadHeadAsync()).All("X-Set"));

            await using var other = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
            var stream = await other.OpenAsync(Http2Visitor.Request(false), end: true);
            await stream.InterimCount.WaitForAsync(1);
            Assert.Equal([(":status", "103"), ("link", "</a>")], stream.Interims[0]);
            Assert.Equal("new", (await stream.ReadWholeAsync())["x-set"]);
        },
        new TunnelSetup { Agent = WithPolicy });

    private static AgentOptions WithPolicy(AgentOptions options)
    {
        Assert.Null(PolicyOptionsParser.Read(
            """[{ "remove-response-header": "X-Inner", "set-response-header": { "X-Set": "new" } }]""", ref options));
        return options;
    }

    private static async Task ServeAsync(RawConnection service)
    {
        while (true)
        {
            try
            {
                await service.ReadHeadAsync();
            }
            catch (RawConnectionEndedException)
            {
                return;
            }

            await service.WriteAsync(Answer);
        }
    }
}
