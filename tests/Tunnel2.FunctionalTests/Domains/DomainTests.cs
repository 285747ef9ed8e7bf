using System.Net;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Fronts;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Https;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Domains;

/// <summary>Domains that agents claim, with real visitors of every kind.</summary>
[Trait("Engine", "each")]
public sealed class DomainTests
{
    private const string Token = "domain-token";

    private static readonly string[] _listed =
    [
        "Agents:web:TokenHash=" + EntryTokens.HashSetting(Token), "Agents:web:Names=web,web.example.org,*.example.com,example.net",
        "Agents:other:TokenHash=" + EntryTokens.HashSetting("other-token"), "Agents:other:Names=*,*.example.com,example.net",
    ];

    public static TheoryData<string> Kinds => [.. FrontVisitor.Kinds];

    [Theory]
    [MemberData(nameof(Kinds))]
    public Task A_claimed_domain_is_served_as_a_name_is(string kind) => FrontVisitor.RunAsync(
        kind,
        static options => options with { Name = "web.example.org", Token = Token },
        _listed,
        static service => ServeAsync(service),
        async visitor =>
        {
            foreach (var (host, status) in new[]
            {
                ("web.example.org", 200), ("WEB.example.org:8443", 200), ("a.web.example.org", 404), ("example.org", 404),
            })
            {
                using var response = await SendAsync(visitor, host);
                Assert.Equal(status, (int)response.StatusCode);
                if (status == 200)
                {
                    Assert.Equal($"/ {host}", await response.Content.ReadAsStringAsync());
                }
            }
        });

    [Theory]
    [MemberData(nameof(Kinds))]
    public Task A_wildcard_serves_what_is_one_part_below_it(string kind) => FrontVisitor.RunAsync(
        kind,
        static options => options with { Name = "*.example.com", Token = Token },
        _listed,
        static service => ServeAsync(service),
        async visitor =>
        {
            foreach (var (host, status) in new[] { ("a.example.com", 200), ("b.example.com", 200), ("example.com", 404) })
            {
                using var response = await SendAsync(visitor, host);
                Assert.Equal(status, (int)response.StatusCode);
            }
        });

    [Theory]
    [MemberData(nameof(Kinds))]
    public Task A_domain_can_redirect_with_path_and_query(string kind) => FrontVisitor.RunAsync(
        kind,
        static options =>
        {
            Assert.Null(DomainOptionsParser.Read("example.net=>www.example.net", ref options));
            return Assert.Single(DomainOptionsParser.Split(options with { Token = Token }));
        },
        _listed,
        static _ => throw new InvalidOperationException("No visitor reaches the service."),
        async visitor =>
        {
            using var response = await SendAsync(visitor, "example.net", "/a?b=c");
            Assert.Equal(
                (HttpStatusCode.PermanentRedirect, "https://www.example.net/a?b=c"),
                (response.StatusCode, response.Headers.Location!.OriginalString));
        });

    [Fact]
    public async Task The_redirect_to_HTTPS_counts_for_claimed_domains_and_no_others()
    {
        using var certificate = TestCertificate.Create();
        await TunnelFixture.RunAsync(
            static service => ServeAsync(service),
            async tunnel =>
            {
                var (claimed, _) = await tunnel.ExchangeAsync("/a", host: "web.example.org");
                Assert.Equal(
                    (308, $"https://web.example.org:{tunnel.Entry.Https.Port}/a"), (claimed.StatusCode, claimed["Location"]));
                var (foreign, _) = await tunnel.ExchangeAsync("/a", host: "elsewhere.example.org");
                Assert.Equal(404, foreign.StatusCode);
            },
            new TunnelSetup
            {
                Settings =
                [
                    .. _listed, "Public:HttpsListen=127.0.0.1:0", $"Public:Certificate={certificate.File}", "Https:Redirect=on",
                    "Https:Hsts=2h",
                ],
                Agent = static options => options with { Name = "web.example.org", Token = Token },
            });
    }

    [Fact]
    public async Task A_domain_is_its_owners_until_the_owner_leaves()
    {
        await using var entry = await EntryFixture.StartAsync(null, _listed);
        var wanted = AgentFixture.Options(entry.Uplink.Port, 1, "example.net");
        await using var first = await AgentFixture.StartReadyAsync(wanted with { Token = Token });
        Assert.Contains($"http://example.net:{entry.Http.Port}", first.Events.PublicUrls);

        await using (var foreign = AgentFixture.Start(wanted with { Token = "other-token" }))
        {
            await foreign.Events.EndCount.WaitForAsync(1);
            Assert.Equal(RejectionReason.NameTaken, foreign.Events.Ends[0].Rejection?.Reason);
        }

        await using var second = await AgentFixture.StartReadyAsync(wanted with { Token = Token });
        Assert.Equal(AgentExitCode.Rejected, await first.Completion);
    }

    [Theory]
    [InlineData("www.example.org", Token, RejectionReason.NameNotAllowed)]
    [InlineData("example.net", null, RejectionReason.NameNotAllowed)]
    [InlineData("x.localhost", Token, RejectionReason.NameNotAllowed)]
    public async Task Without_the_servers_permission_there_is_no_domain(string domain, string? token, RejectionReason reason)
    {
        await using var entry = await EntryFixture.StartAsync(null, [.. _listed, "AllowAnonymousAgents=true"]);
        await using var agent = AgentFixture.Start(AgentFixture.Options(entry.Uplink.Port, 1, domain) with { Token = token });
        Assert.Equal(AgentExitCode.Rejected, await agent.Completion);
        Assert.Equal(reason, agent.Events.Ends[0].Rejection?.Reason);
    }

    [Fact]
    public async Task What_only_the_pattern_for_any_domain_covers_needs_a_proof_of_its_owner()
    {
        using var folder = new TemporaryFolder();
        var records = folder["records"];
        await File.WriteAllTextAsync(records, "");
        await using var names = NameServer.Start(records);
        await using var entry = await EntryFixture.StartAsync(
            null, "Agents:web:TokenHash=" + EntryTokens.HashSetting(Token), "Agents:web:Names=*.example.com,*.*",
            $"Domains:Resolvers=127.0.0.1:{names.Port}");
        await using var granted = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(entry.Uplink.Port, 1, "a.example.com") with { Token = Token });

        var wanted = AgentFixture.Options(entry.Uplink.Port, 1, "app.example.org") with { Token = Token };
        await using (var unproven = AgentFixture.Start(wanted))
        {
            Assert.Equal(AgentExitCode.Rejected, await unproven.Completion);
            var text = unproven.Events.Ends[0].Message;
            Assert.Contains("TXT record _tunnel2-challenge.app.example.org with the text tunnel2-proof=", text, StringComparison.Ordinal);
            var proof = text[text.IndexOf("tunnel2-proof=", StringComparison.Ordinal)..].Split(' ')[0];
            await File.WriteAllLinesAsync(
                records, [$"_tunnel2-challenge.app.example.org {proof}", $"_tunnel2-challenge.www.example.org {proof}"]);
        }

        // The text of one domain proves no other.
        await using (var other = AgentFixture.Start(wanted with { Name = "www.example.org" }))
        {
            Assert.Equal(AgentExitCode.Rejected, await other.Completion);
        }

        await using var proven = await AgentFixture.StartReadyAsync(wanted);
    }

    private static async Task<HttpResponseMessage> SendAsync(FrontVisitor visitor, string host, string path = "/")
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, new Uri(visitor.Client.BaseAddress!, path))
        {
            Version = visitor.Version,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        request.Headers.Host = host;
        return await visitor.Client.SendAsync(request);
    }

    private static async Task ServeAsync(RawConnection connection)
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

            var body = $"{head.Target} {head["Host"]}";
            await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {body.Length}\r\n\r\n{body}");
        }
    }
}
