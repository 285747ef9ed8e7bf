using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks.Security;

/// <summary>Tokens that change while the entry runs.</summary>
public sealed class TokenReloadTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();
    private readonly ManualTimeProvider _time = new();

    [Fact]
    public async Task A_removed_and_a_changed_token_end_their_sessions_and_no_others()
    {
        Write(("gone", "t1", "gone-*"), ("changed", "t2", ""), ("renamed", "t3", "old-*"), ("good", "t4", "good-*"));
        await using var entry = await StartAsync();
        await using var gone = await ConnectAsync(entry, "gone-1", "t1");
        await using var changed = await ConnectAsync(entry, "free", "t2");
        await using var renamed = await ConnectAsync(entry, "old-1", "t3");
        await using var good = await ConnectAsync(entry, "good-1", "t4");

        Write(("changed", "t2-new", ""), ("renamed", "t3", "new-*"), ("good", "t4", "good-*"), ("fresh", "t5", ""));
        _time.Advance(ReloadLoop.Period);
        foreach (var peer in new[] { gone, changed, renamed })
        {
            var goAway = (await peer.ReadUntilAsync(FrameType.GoAway)).GoAway;
            Assert.Equal((GoAwayPhase.Final, SessionEndReason.Revoked), (goAway.Phase, goAway.Reason));
            await peer.DisposeAsync();
        }

        await good.SyncAsync();
        await entry.WaitForSessionsAsync(1);
        await using var fresh = await ConnectAsync(entry, "fresh-1", "t5");
        await using var rotated = await ConnectAsync(entry, "free", "t2-new");
        Assert.Equal(RejectCode.Unauthorized, (await AskAsync(entry, "free", "t2")).Reject.Code);
        entry.Log.AssertNoErrors();
    }

    [Fact]
    public async Task An_agent_whose_token_is_withdrawn_ends_for_good()
    {
        Write(("web", "t1", ""), ("other", "t2", ""));
        await using var entry = await StartAsync();
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, 9) with { Token = "t1" });
        Write(("other", "t2", ""));
        _time.Advance(ReloadLoop.Period);
        Assert.Equal(3, await agent.Completion.WaitAsync(TimeSpan.FromSeconds(20)));
        Assert.Contains("Revoked", Assert.Single(agent.Events.Ends).Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("{ \"Tunnel2\": { \"Agents\": ", 1)]
    [InlineData(
        "{ \"Tunnel2\": { \"AllowAnonymousAgents\": \"perhaps\", \"Agents\": { \"web\": { \"TokenHash\": \"t1\", \"Nmes\": \"x\" } } } }",
        3)]
    public async Task Broken_settings_change_nothing_and_every_mistake_is_logged(string text, int mistakes)
    {
        Write(("web", "t1", ""));
        await using var entry = await StartAsync();
        await using var peer = await ConnectAsync(entry, "web", "t1");

        File.WriteAllText(_folder["appsettings.json"], text);
        _time.Advance(ReloadLoop.Period);
        await entry.Log.WaitForAsync(2256, mistakes);
        await peer.SyncAsync();
        await using var again = await ConnectAsync(entry, "again", "t1");

        File.Delete(_folder["appsettings.json"]);
        _time.Advance(ReloadLoop.Period);
        await entry.Log.WaitForAsync(2256, mistakes + 1);
        await peer.SyncAsync();
    }

    [Fact]
    public async Task A_reload_that_failed_is_tried_again_though_the_settings_have_not_changed_since()
    {
        using var authority = new TestAuthority();
        var certificate = _folder["public.pem"];
        File.WriteAllText(certificate, authority.Issue("*.example.test"));
        Write(("gone", "t1", ""), ("good", "t2", ""));
        var with = File.ReadAllText(_folder["appsettings.json"]).Replace(
            "\"HttpListen\"", $"\"HttpsListen\": \"127.0.0.1:0\", \"Certificate\": \"{certificate}\", \"HttpListen\"",
            StringComparison.Ordinal);
        File.WriteAllText(_folder["appsettings.json"], with);
        await using var entry = await StartAsync();
        await using var gone = await ConnectAsync(entry, "gone", "t1");

        // The revocation comes while the certificate is being renewed: for a moment the settings name a file that is not there.
        var text = File.ReadAllText(certificate);
        File.Delete(certificate);
        File.WriteAllText(
            _folder["appsettings.json"],
            with.Replace("\"gone\":", "\"other\":", StringComparison.Ordinal).Replace(
                EntryTokens.HashSetting("t1"), EntryTokens.HashSetting("t3"), StringComparison.Ordinal));
        for (var look = 0; look < 3; look++)
        {
            _time.Advance(ReloadLoop.Period);
            await entry.Log.WaitForAsync(2256);
        }

        await gone.SyncAsync();
        Assert.Single(entry.Log.All, static line => line.EventId == 2256);

        File.WriteAllText(certificate, text);
        _time.Advance(ReloadLoop.Period);
        Assert.Equal(SessionEndReason.Revoked, (await gone.ReadUntilAsync(FrameType.GoAway)).GoAway.Reason);
    }

    [Fact]
    public async Task Settings_that_changed_between_the_start_and_the_first_look_are_read_again()
    {
        Write(("gone", "t1", ""), ("good", "t2", ""));
        var source = new SettingsSource([_folder["appsettings.json"]], []);
        source.Read();
        Write(("good", "t2", ""));
        var stale = new SettingsSource([_folder["appsettings.json"]], []);
        Assert.False(stale.Watch.HaveChanged());
        Assert.True(source.Watch.HaveChanged());
        await using var entry = await EntryFixture.StartAsync(source, _time);
        _time.Advance(ReloadLoop.Period);
        await entry.Log.WaitForAsync(2255);
    }

    [Fact]
    public async Task Other_settings_wait_for_a_restart_and_are_said_to()
    {
        Write(("web", "t1", ""));
        await using var entry = await StartAsync();
        File.WriteAllText(
            _folder["appsettings.json"],
            File.ReadAllText(_folder["appsettings.json"]).Replace("\"EntryId\": \"e1\"", "\"EntryId\": \"e2\"", StringComparison.Ordinal));
        _time.Advance(ReloadLoop.Period);
        await entry.UntilAsync(
            () => entry.Log.All.Any(static line => line.EventId == 2257 && line.Text.Contains("Tunnel2:EntryId", StringComparison.Ordinal)),
            "it is said");
    }

    public void Dispose() => _folder.Dispose();

    private static async Task<RawUplink> ConnectAsync(EntryFixture entry, string name, string token)
    {
        var peer = await RawUplink.ConnectAsync(entry.Uplink);
        await peer.SendAsync(Hello(name, token).ToFrame());
        Assert.Equal(FrameType.Welcome, (await peer.ReadAsync())?.Type);
        return peer;
    }

    private static async Task<ReceivedFrame> AskAsync(EntryFixture entry, string name, string token)
    {
        await using var peer = await RawUplink.ConnectAsync(entry.Uplink);
        await peer.SendAsync(Hello(name, token).ToFrame());
        return Assert.Single(await peer.ReadToEndAsync());
    }

    private static HelloMessage Hello(string name, string token) =>
        RawUplink.Hello(name) with { ProofKind = TokenProofKind.Bearer, Proof = Encoding.UTF8.GetBytes(token) };

    private Task<EntryFixture> StartAsync() => EntryFixture.StartAsync(new SettingsSource([_folder["appsettings.json"]], []), _time);

    private void Write(params (string Id, string Token, string Names)[] agents)
    {
        var entries = agents.Select(
            static agent =>
                $"\"{agent.Id}\": {{ \"TokenHash\": \"{EntryTokens.HashSetting(agent.Token)}\""
                    + (agent.Names.Length > 0 ? $", \"Names\": \"{agent.Names}\" }}" : " }"));
        File.WriteAllText(_folder["appsettings.json"], $$"""
            { "Tunnel2": { "AllowAnonymousAgents": false, "EntryId": "e1", "Public": { "HttpListen": "127.0.0.1:0" },
              "Uplink": { "Listen": "127.0.0.1:0" }, "Admin": { "Listen": "127.0.0.1:0" }, "Agents": { {{string.Join(", ", entries)}} } } }
            """);
    }
}
