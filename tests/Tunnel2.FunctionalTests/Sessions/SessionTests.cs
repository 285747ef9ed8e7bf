using System.Net;
using System.Text.RegularExpressions;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Sessions;

[Trait("Engine", "each")]
public sealed partial class SessionTests
{
    private static readonly TimeSpan _long = TimeSpan.FromSeconds(15);

    [Fact]
    public async Task An_agent_is_back_under_the_same_url_when_the_entry_was_restarted()
    {
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        var (uplink, http) = (new IPEndPoint(IPAddress.Loopback, FreePort.Next()), new IPEndPoint(IPAddress.Loopback, FreePort.Next()));
        string[] settings = [$"Uplink:Listen={uplink}", $"Public:HttpListen={http}"];
        AgentFixture agent;
        IReadOnlyList<string> urls;
        await using (var entry = await EntryFixture.StartAsync(null, settings))
        {
            agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(uplink.Port, backend.Port));
            urls = agent.Events.PublicUrls;
            Assert.Equal([$"http://web.localhost:{http.Port}"], urls);
            await AssertServesAsync(http);
            await entry.StopAsync();
        }

        await using var stopping = agent;
        await agent.Events.EndCount.WaitForAsync(1);
        await using var again = await EntryFixture.StartAsync(null, settings);
        await agent.Events.ReadyCount.WaitForAsync(2, _long);
        Assert.Equal(urls, agent.Events.PublicUrls);
        await AssertServesAsync(http);
        Assert.Equal(0, await agent.StopAsync());
    }

    [Fact]
    public async Task An_entry_that_stops_says_so_and_finishes_what_is_under_way()
    {
        var mayAnswer = new WaitSignal("the backend may answer");
        await using var backend = RawTcpServer.Start(async connection =>
        {
            await connection.ReadHeadAsync();
            await mayAnswer.WaitAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone");
            await connection.WaitForEndAsync();
        });
        await using var entry = await EntryFixture.StartAsync();
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, backend.Port));
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.SendRequestAsync("/", TunnelFixture.Host);
        await backend.ConnectionsAccepted.WaitForAsync(1);
        var stopping = entry.StopAsync();
        await agent.Events.DrainingCount.WaitForAsync(1);
        mayAnswer.Set();
        var head = await visitor.ReadHeadAsync();
        Assert.Equal(200, head.StatusCode);
        Assert.Equal("done", (await visitor.ReadBodyAsync(head)).Text());
        await stopping;
        await agent.Events.EndCount.WaitForAsync(1);
        entry.Log.AssertNoErrors();
    }

    [Fact]
    public async Task An_agent_that_stops_finishes_what_is_under_way_and_exits_with_0()
    {
        var mayAnswer = new WaitSignal("the backend may answer");
        await using var backend = RawTcpServer.Start(async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf");
            await mayAnswer.WaitAsync();
            await connection.WriteAsync("done");
            await connection.WaitForEndAsync();
        });
        await using var entry = await EntryFixture.StartAsync(null, "Timeouts:Park=off");
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, backend.Port));
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.SendRequestAsync("/", TunnelFixture.Host);
        var head = await visitor.ReadHeadAsync();
        var stopping = agent.StopAsync();
        await agent.Events.DrainingCount.WaitForAsync(1);
        await entry.WaitForGoodbyeAsync();

        // As long as something is under way that was there before, it serves on.
        await using var late = await RawHttpClient.ConnectAsync(entry.Http);
        await late.SendRequestAsync("/", TunnelFixture.Host);
        var lateHead = await late.ReadHeadAsync();
        Assert.Equal(200, lateHead.StatusCode);
        Assert.False(stopping.IsCompleted);
        mayAnswer.Set();
        foreach (var body in new[] { await visitor.ReadBodyAsync(head), await late.ReadBodyAsync(lateHead) })
        {
            Assert.Equal(("halfdone", ConnectionEnding.Complete), (body.Text(), body.Ending));
        }

        Assert.Equal(0, await stopping);
        Assert.Equal(1, agent.Events.StoppedCount.Value);
        await entry.WaitForSessionsAsync(0);
        entry.Log.AssertNoErrors();
    }

    [Fact]
    public async Task The_same_agent_takes_its_name_over_and_the_older_session_ends_for_good()
    {
        await using var first = RawTcpServer.StartAnswering("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nfirst");
        await using var second = RawTcpServer.StartAnswering("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\nsecond");
        await using var entry = await EntryFixture.StartAsync();
        var options = AgentFixture.Options(entry.Uplink.Port, first.Port);
        await using var older = await AgentFixture.StartReadyAsync(options);
        Assert.Equal("first", await GetAsync(entry.Http));
        await using var younger = await AgentFixture.StartReadyAsync(
            options with { Upstream = options.Upstream with { Port = second.Port } });
        Assert.Equal(AgentExitCode.Rejected, await older.Completion.WaitAsync(_long));
        Assert.Equal(ConnectionEndReason.Superseded, Assert.Single(older.Events.Ends).Reason);
        Assert.Equal("second", await GetAsync(entry.Http));
        Assert.Equal(1, entry.Directory.Count);
        await entry.Log.WaitForAsync(2001);
        Assert.Equal("second", await GetAsync(entry.Http));
    }

    [Fact]
    public async Task Another_agent_cannot_have_a_name_that_is_taken()
    {
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await using var entry = await EntryFixture.StartAsync();
        await using var owner = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, backend.Port));
        await using var other = AgentFixture.Start(AgentFixture.Options(entry.Uplink.Port, backend.Port));
        Assert.Equal(AgentExitCode.Rejected, await other.Completion.WaitAsync(_long));
        var end = Assert.Single(other.Events.Ends);
        Assert.Equal((ConnectionEndReason.RejectedPermanently, RejectionReason.NameTaken), (end.Reason, end.Rejection?.Reason));
        Assert.Equal(0, owner.Events.EndCount.Value);
        await AssertServesAsync(entry.Http);
    }

    [Theory]
    [InlineData("secret", "shop", null)]
    [InlineData("secret", "shop-7", null)]
    [InlineData("secret", "blog", RejectionReason.NameNotAllowed)]
    [InlineData("wrong", "shop", RejectionReason.Unauthorized)]
    [InlineData(null, "shop", RejectionReason.NameNotAllowed)]
    [InlineData(null, "other", null)]
    public async Task A_token_may_claim_its_names_and_no_others(string? token, string name, RejectionReason? refusal)
    {
        await using var entry = await EntryFixture.StartAsync(
            null, "Agents:a:TokenHash=" + EntryTokens.HashSetting("secret"), "Agents:a:Names=shop,shop-*");
        await AssertAdmissionAsync(entry, AgentFixture.Options(entry.Uplink.Port, 1, name) with { Token = token }, refusal);
    }

    [Theory]
    [InlineData("secret", null)]
    [InlineData("Secret", RejectionReason.Unauthorized)]
    [InlineData(null, RejectionReason.Unauthorized)]
    public async Task Where_tokens_are_needed_no_agent_comes_in_without(string? token, RejectionReason? refusal)
    {
        await using var entry = await EntryFixture.StartAsync(
            null, "Agents:a:TokenHash=" + EntryTokens.HashSetting("secret"), "AllowAnonymousAgents=false");
        await AssertAdmissionAsync(entry, AgentFixture.Options(entry.Uplink.Port, 1) with { Token = token }, refusal);
    }

    [Fact]
    public async Task The_owner_of_a_token_takes_its_name_over_from_any_machine()
    {
        await using var entry = await EntryFixture.StartAsync(null, "Agents:a:TokenHash=" + EntryTokens.HashSetting("secret"));
        await using var older = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, 1) with { Token = "secret" });
        await using var younger = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, 1) with { Token = "secret" });
        Assert.Equal(AgentExitCode.Rejected, await older.Completion.WaitAsync(_long));
        Assert.Equal(1, entry.Directory.Count);
    }

    [Theory]
    [InlineData("-")]
    [InlineData("-abc")]
    [InlineData("abc-")]
    [InlineData("a_b")]
    [InlineData("a..b")]
    [InlineData("abc-e1")]
    [InlineData("abc\u00fc")]
    [InlineData("012345678901234567890123456789012345678901234567890")]
    public async Task A_name_that_breaks_the_rules_is_refused(string name)
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var peer = await RawUplink.ConnectAsync(entry.Uplink);
        await peer.SendAsync(RawUplink.Hello(name).ToFrame());
        var reject = (await peer.ReadAsync())!.Reject;
        Assert.Equal((RejectCode.InvalidName, TimeSpan.Zero), (reject.Code, reject.RetryAfter));
        Assert.Null(await peer.ReadAsync());
        Assert.Equal(0, entry.Directory.Count);
    }

    [Theory]
    [InlineData("a", "a")]
    [InlineData("A1", "a1")]
    [InlineData("abc", "abc")]
    [InlineData("WEB", "web")]
    [InlineData("6f9619ff-8b86-d011-b42d-00c04fc964ff", "6f9619ff-8b86-d011-b42d-00c04fc964ff")]
    [InlineData("01234567890123456789012345678901234567890123456789", "01234567890123456789012345678901234567890123456789")]
    public async Task A_name_that_keeps_the_rules_is_given(string name, string given)
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var peer = await RawUplink.ConnectAsync(entry.Uplink);
        await peer.SendAsync(RawUplink.Hello(name).ToFrame());
        var answer = await peer.ReadAsync();
        Assert.Equal(FrameType.Welcome, answer!.Type);
        Assert.Equal(ProtocolError.None, WelcomeMessage.TryRead(answer.Payload, out var welcome));
        Assert.Equal(given, welcome!.Name);
        Assert.Equal([$"http://{given}.localhost:{entry.Http.Port}"], welcome.PublicUrls);
    }

    [Fact]
    public async Task An_agent_without_a_wish_for_a_name_gets_ten_random_characters()
    {
        await using var entry = await EntryFixture.StartAsync();
        var names = new HashSet<string>();
        for (var i = 0; i < 5; i++)
        {
            await using var peer = await RawUplink.ConnectAsync(entry.Uplink);
            await peer.SendAsync(RawUplink.Hello("").ToFrame());
            Assert.Equal(ProtocolError.None, WelcomeMessage.TryRead((await peer.ReadAsync())!.Payload, out var welcome));
            Assert.Matches(RandomName(), welcome!.Name);
            Assert.True(names.Add(welcome.Name));
        }
    }

    [Fact]
    public async Task An_agent_without_a_server_keeps_trying_unless_its_setting_is_to_exit()
    {
        using var port = new RefusedPort();
        var options = AgentFixture.Options(port.Port, 1);
        await using var stubborn = AgentFixture.Start(options);
        await stubborn.Events.EndCount.WaitForAsync(2, _long);
        Assert.False(stubborn.Completion.IsCompleted);
        Assert.All(stubborn.Events.Ends, static end => Assert.Equal(ConnectFailureReason.Refused, end.Failure?.Reason));
        await using var brittle = AgentFixture.Start(options with { ExitOnFailure = true });
        Assert.Equal(AgentExitCode.ServerUnreachable, await brittle.Completion.WaitAsync(_long));
        Assert.Equal(0, await stubborn.StopAsync());
    }

    [Fact]
    public Task The_agent_reports_every_request_when_it_is_asked_to() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await tunnel.ExchangeAsync("/bytes/1000?secret=1");
            await tunnel.ExchangeAsync("/status/404?body=nothing", "POST");
            await tunnel.Agent.Events.RequestCount.WaitForAsync(2);
            Assert.Equal(
                [("GET", 200, 1000L, null), ("POST", 404, 7L, null)],
                tunnel.Agent.Events.Requests.Select(
                    static request => (request.Method, request.StatusCode, request.ResponseBytes, request.Error)));
        },
        new TunnelSetup { WantsRequests = true });

    private static async Task AssertAdmissionAsync(EntryFixture entry, AgentOptions options, RejectionReason? refusal)
    {
        await using var agent = AgentFixture.Start(options);
        if (refusal is null)
        {
            await agent.Events.ReadyCount.WaitForAsync(1);
            Assert.Equal(0, await agent.StopAsync());
            return;
        }

        Assert.Equal(AgentExitCode.Rejected, await agent.Completion.WaitAsync(_long));
        Assert.Equal(refusal, Assert.Single(agent.Events.Ends).Rejection?.Reason);
        Assert.Equal(0, entry.Directory.Count);
        Assert.DoesNotContain(
            entry.Log.All, line => options.Token is { } token && line.Text.Contains(token, StringComparison.OrdinalIgnoreCase));
    }

    private static async Task AssertServesAsync(IPEndPoint http)
    {
        await using var visitor = await RawHttpClient.ConnectAsync(http);
        Assert.Equal(200, (await visitor.ExchangeAsync("/", TunnelFixture.Host)).Head.StatusCode);
    }

    private static async Task<string> GetAsync(IPEndPoint http)
    {
        await using var visitor = await RawHttpClient.ConnectAsync(http);
        var (head, body) = await visitor.ExchangeAsync("/", TunnelFixture.Host);
        Assert.Equal(200, head.StatusCode);
        return body.Text();
    }

    [GeneratedRegex("^[a-z0-9]{10}$")]
    private static partial Regex RandomName();
}
