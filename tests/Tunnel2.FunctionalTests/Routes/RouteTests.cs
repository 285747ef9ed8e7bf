using System.Net;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Fronts;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Routes;

/// <summary>Several services behind one name, with real visitors of every kind.</summary>
[Trait("Engine", "each")]
public sealed class RouteTests
{
    public static TheoryData<string> Kinds => [.. FrontVisitor.Kinds];

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task Each_path_goes_to_its_service_as_the_visitor_wrote_it(string kind)
    {
        await using var api = RawTcpServer.Start(connection => ServeAsync(connection, "api"));
        await using var docs = RawTcpServer.Start(connection => ServeAsync(connection, "docs"));
        await FrontVisitor.RunAsync(
            kind,
            options => options with
            {
                Routes =
                [
                    new ServiceRoute("/api", new BackendTarget(false, "127.0.0.1", api.Port)),
                    new ServiceRoute("/docs", new BackendTarget(false, "127.0.0.1", docs.Port)) { StripsPrefix = true },
                ],
            },
            [],
            connection => ServeAsync(connection, "web"),
            async visitor =>
            {
                foreach (var (path, answer) in new[]
                {
                    ("/", "web /"), ("/apis", "web /apis"), ("/api", "api /api"), ("/api/users?q=/docs", "api /api/users?q=/docs"),
                    ("/%61pi/x", "api /%61pi/x"), ("/docs", "docs /"), ("/docs/a%2Fb?x", "docs /a%2Fb?x"), ("/docs?x", "docs /?x"),
                    ("/after", "web /after"),
                })
                {
                    using var response = await SendAsync(visitor, path);
                    Assert.Equal((HttpStatusCode.OK, answer), (response.StatusCode, await response.Content.ReadAsStringAsync()));
                }
            });
    }

    [Fact]
    public async Task A_path_that_leads_to_two_services_reaches_none()
    {
        var reached = 0;
        await using var api = RawTcpServer.Start(connection =>
        {
            Interlocked.Increment(ref reached);
            return ServeAsync(connection, "api");
        });
        await TunnelFixture.RunAsync(
            connection =>
            {
                Interlocked.Increment(ref reached);
                return ServeAsync(connection, "web");
            },
            async tunnel =>
            {
                foreach (var path in new[] { "/x/../api", "/x/%2e%2e/api", "//api", "/api/..%2fadmin", "/api;v=1", "/%2561pi" })
                {
                    var (head, _) = await tunnel.ExchangeAsync(path);
                    Assert.Equal(400, head.StatusCode);
                }

                Assert.Equal(0, Volatile.Read(ref reached));
                await tunnel.Agent.Events.RequestCount.WaitForAsync(6);
                Assert.All(tunnel.Agent.Events.Requests, static request => Assert.Contains(
                    "several ways", request.Error, StringComparison.Ordinal));
            },
            new TunnelSetup
            {
                WantsRequests = true,
                Agent = options => options with { Routes = [new ServiceRoute("/api", new BackendTarget(false, "127.0.0.1", api.Port))] },
            });
    }

    [Fact]
    public async Task A_service_that_is_down_fails_alone_and_the_agent_says_which_one()
    {
        using var closed = new RefusedPort();
        await TunnelFixture.RunAsync(
            connection => ServeAsync(connection, "web"),
            async tunnel =>
            {
                var (failed, _) = await tunnel.ExchangeAsync("/api/x");
                var (works, _) = await tunnel.ExchangeAsync("/x");
                Assert.Equal((502, 200), (failed.StatusCode, works.StatusCode));
                await tunnel.Agent.Events.RequestCount.WaitForAsync(2);
                var request = Assert.Single(tunnel.Agent.Events.Requests, static one => one.Error is not null);
                var service = $"http://127.0.0.1:{closed.Port}";
                Assert.Equal(
                    (service, "backend", $"{service}: connection refused"), (request.Service, request.Leg, request.Error));
            },
            new TunnelSetup
            {
                WantsRequests = true,
                Agent = options => options with { Routes = [new ServiceRoute("/api", new BackendTarget(false, "127.0.0.1", closed.Port))] },
            });
    }

    private static async Task<HttpResponseMessage> SendAsync(FrontVisitor visitor, string path)
    {
        var origin = visitor.Client.BaseAddress!.GetLeftPart(UriPartial.Authority);
        var asWritten = new UriCreationOptions { DangerousDisablePathAndQueryCanonicalization = true };
        using var request = new HttpRequestMessage(HttpMethod.Get, new Uri(origin + path, asWritten))
        {
            Version = visitor.Version,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        return await visitor.Client.SendAsync(request);
    }

    private static async Task ServeAsync(RawConnection connection, string name)
    {
        while (true)
        {
            RawHttpHead head;
            try
            {
                head = await connection.ReadHeadAsync();
            }
            catch (RawConnectionEndedException)
            {
                return;
            }

            var body = $"{name} {head.Target}";
            await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {body.Length}\r\n\r\n{body}");
        }
    }
}
