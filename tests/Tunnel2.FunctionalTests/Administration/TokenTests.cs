using System.Text;
using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Administration;

/// <summary>Tokens that the server keeps, with agents that use them.</summary>
public sealed class TokenTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();
    private readonly ManualTimeProvider _time = new();

    private string TokenFolder => Path.Combine(_folder["state"], "tokens");

    [Fact]
    public async Task A_token_is_in_force_at_once_for_its_names_and_until_it_is_revoked()
    {
        await using var entry = await StartAsync();
        using var api = new AdminApi(entry);
        var token = await api.CreateTokenAsync("""{"name":"ci","agent":"build","names":["ci-*","web"],"tier":"pro"}""");
        var second = await api.CreateTokenAsync("""{"name":"other","names":["other"]}""");
        Assert.StartsWith("t2_", token, StringComparison.Ordinal);
        await using var agent = await ConnectAsync(entry, "ci-1", token);
        await using var other = await ConnectAsync(entry, "other", second);
        Assert.Equal(RejectCode.NameNotAllowed, (await AskAsync(entry, "other", token)).Code);
        Assert.Equal(RejectCode.NameNotAllowed, (await AskAsync(entry, "ci-2", second)).Code);

        var listed = (await api.GetAsync("tokens")).GetProperty("tokens").EnumerateArray().First();
        Assert.Equal(("ci", "build", "pro", 1), (
            Text(listed, "name"), Text(listed, "agent"), Text(listed, "tier"), listed.GetProperty("sessions").GetInt32()));
        Assert.Equal(_time.GetUtcNow(), listed.GetProperty("lastUsed").GetDateTimeOffset());
        Assert.Equal("pro", Text(await api.GetAsync("sessions/ci-1"), "tier"));
        Assert.Equal("build", Text(await api.GetAsync("sessions/ci-1"), "agent"));

        var (status, json, _) = await api.SendAsync("DELETE", "tokens/ci");
        Assert.Equal((200, 1), (status, json!.Value.GetProperty("sessionsEnded").GetInt32()));
        var goAway = (await agent.ReadUntilAsync(FrameType.GoAway)).GoAway;
        Assert.Equal((GoAwayPhase.Final, SessionEndReason.Revoked), (goAway.Phase, goAway.Reason));
        await agent.DisposeAsync();
        Assert.Equal(RejectCode.Unauthorized, (await AskAsync(entry, "ci-1", token)).Code);
        await other.SyncAsync();
        await api.RefusedAsync(404, "no-token", "DELETE", "tokens/ci");

        // The name of a revoked token is free; what is made under it is another token.
        Assert.NotEqual(token, await api.CreateTokenAsync("""{"name":"ci","names":["ci-*"]}"""));
        Assert.Equal(RejectCode.Unauthorized, (await AskAsync(entry, "ci-1", token)).Code);
        Assert.False((await api.GetAsync("tokens/ci")).TryGetProperty("lastUsed", out _));
    }

    [Fact]
    public async Task A_new_server_starts_before_its_first_token_and_says_how_it_is_made()
    {
        await using var entry = await StartAsync("AllowAnonymousAgents=false");
        using var api = new AdminApi(entry);
        Assert.Contains(
            "tunnel2-entry token create --keep", Assert.Single(entry.Log.All, static line => line.EventId == 2223).Text,
            StringComparison.Ordinal);
        Assert.Equal(RejectCode.Unauthorized, (await AskAsync(entry, "web", "")).Code);
        Assert.Equal(RejectCode.Unauthorized, (await AskAsync(entry, "web", "t2_guessed")).Code);

        var token = await api.CreateTokenAsync("""{"name":"web","names":["web"]}""");
        await using var agent = await ConnectAsync(entry, "web", token);
        await using var again = await StartAsync("AllowAnonymousAgents=false");
        Assert.DoesNotContain(again.Log.All, static line => line.EventId == 2223);
    }

    [Fact]
    public async Task An_agent_whose_token_is_revoked_ends_for_good()
    {
        await using var entry = await StartAsync();
        using var api = new AdminApi(entry);
        var token = await api.CreateTokenAsync("""{"name":"web","names":["web"]}""");
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, 9) with { Token = token });
        await api.SendAsync("DELETE", "tokens/web");
        Assert.Equal(3, await agent.Completion.WaitAsync(TimeSpan.FromSeconds(20)));
        Assert.Contains("Revoked", Assert.Single(agent.Events.Ends).Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_token_ends_when_its_time_is_over_and_the_agent_is_given_the_reason()
    {
        await using var entry = await StartAsync();
        using var api = new AdminApi(entry);
        var expires = _time.GetUtcNow() + TimeSpan.FromSeconds(4);
        var token = await api.CreateTokenAsync($$"""{"name":"brief","names":["web","web-*"],"expires":"{{expires:O}}"}""");
        var lasting = await api.CreateTokenAsync("""{"name":"lasting","names":["lasting"]}""");
        await using var agent = await ConnectAsync(entry, "web-1", token);
        await using var other = await ConnectAsync(entry, "lasting", lasting);
        _time.Advance(TimeSpan.FromSeconds(3));
        await using (await ConnectAsync(entry, "web-2", token))
        {
        }

        _time.Advance(ReloadLoop.Period);
        var goAway = (await agent.ReadUntilAsync(FrameType.GoAway)).GoAway;
        Assert.Equal((SessionEndReason.Revoked, "The agent's token has expired."), (goAway.Reason, goAway.Text));
        await agent.DisposeAsync();
        await entry.Log.WaitForAsync(2231);
        var reject = await AskAsync(entry, "web-1", token);
        Assert.Equal((RejectCode.TokenExpired, TimeSpan.Zero), (reject.Code, reject.RetryAfter));
        Assert.StartsWith("The token expired at ", reject.Text, StringComparison.Ordinal);
        await other.SyncAsync();
        Assert.True((await api.GetAsync("tokens/brief")).GetProperty("expired").GetBoolean());

        // What it kept for its agent is free again.
        await api.CreateTokenAsync("""{"name":"next","names":["*"]}""");
        await using var real = AgentFixture.Start(AgentFixture.Options(entry.Uplink.Port, 9) with { Token = token });
        Assert.Equal(3, await real.Completion.WaitAsync(TimeSpan.FromSeconds(20)));
        Assert.Matches(@"The token has expired\..+\[TokenExpired: The token expired at .+\]", Assert.Single(real.Events.Ends).Message);
        Assert.Single(entry.Log.All, static line => line.EventId == 2231);
    }

    [Fact]
    public async Task Tokens_outlive_a_restart_as_hashes_that_only_their_owner_may_read()
    {
        string token;
        await using (var entry = await StartAsync())
        {
            using var api = new AdminApi(entry);
            token = await api.CreateTokenAsync("""{"name":"web","names":["web"],"tier":"free","expires":"2999-01-01T00:00:00Z"}""");
            await using var agent = await ConnectAsync(entry, "web", token);
            Assert.All(entry.Log.All, line => Assert.DoesNotContain(token, line.Text, StringComparison.Ordinal));
            Assert.Contains(entry.Log.All, static line => line.EventId == 2230
                && line.Text.Contains("makes token web of agent web for web, tier free, until 2999", StringComparison.Ordinal));
        }

        var file = Assert.Single(Directory.GetFiles(TokenFolder));
        Assert.DoesNotContain(token, File.ReadAllText(file), StringComparison.Ordinal);
        Assert.Contains(EntryTokens.HashSetting(token), File.ReadAllText(file), StringComparison.Ordinal);
        if (!OperatingSystem.IsWindows())
        {
            const UnixFileMode Owner = UnixFileMode.UserRead | UnixFileMode.UserWrite;
            Assert.Equal((Owner, Owner | UnixFileMode.UserExecute), (File.GetUnixFileMode(file), File.GetUnixFileMode(TokenFolder)));
        }

        await using var again = await StartAsync();
        using var next = new AdminApi(again);
        var listed = await next.GetAsync("tokens/web");
        Assert.Equal(_time.GetUtcNow(), listed.GetProperty("lastUsed").GetDateTimeOffset());
        Assert.Equal("free", Text(listed, "tier"));
        await using var peer = await ConnectAsync(again, "web", token);
    }

    [Fact]
    public async Task A_file_that_is_removed_revokes_and_one_that_is_broken_harms_no_other()
    {
        await using var entry = await StartAsync();
        using var api = new AdminApi(entry);
        var gone = await api.CreateTokenAsync("""{"name":"gone","names":["gone"]}""");
        var kept = await api.CreateTokenAsync("""{"name":"kept","names":["kept"]}""");
        await using var agent = await ConnectAsync(entry, "gone", gone);
        await using var other = await ConnectAsync(entry, "kept", kept);
        File.Delete(Path.Combine(TokenFolder, "gone.json"));
        File.WriteAllText(Path.Combine(TokenFolder, "half.json"), """{ "name": "half", "agent": """);
        _time.Advance(ReloadLoop.Period);
        Assert.Equal(SessionEndReason.Revoked, (await agent.ReadUntilAsync(FrameType.GoAway)).GoAway.Reason);
        await agent.DisposeAsync();
        await entry.Log.WaitForAsync(2232);
        Assert.Equal(RejectCode.Unauthorized, (await AskAsync(entry, "gone", gone)).Code);
        await other.SyncAsync();
        Assert.Equal(["kept"], (await api.GetAsync("tokens")).GetProperty("tokens").EnumerateArray().Select(one => Text(one, "name")));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_file_with_the_same_token_and_other_rights_counts_at_once(bool isReplaced)
    {
        await using var entry = await StartAsync();
        using var api = new AdminApi(entry);
        var token = await api.CreateTokenAsync("""{"name":"ci","agent":"build","names":["web","other"],"tier":"pro"}""");
        await using var agent = await ConnectAsync(entry, "web", token);
        await using var other = await ConnectAsync(entry, "other", token);

        // The looks after the token was made are over, so only what changes now is seen.
        _time.Advance(ReloadLoop.Period);
        _time.Advance(ReloadLoop.Period);
        _time.Advance(ReloadLoop.Period);
        Write(static text => text.Replace("\"pro\"", "\"free\"", StringComparison.Ordinal));
        await entry.UntilAsync(() => Session("web").RateLimit?.Tier.Name == "free", "the tier has changed");
        Assert.Equal("free", Text(await api.GetAsync("sessions/web"), "tier"));

        Write(static text => text.Replace("\"other\"", "\"others\"", StringComparison.Ordinal));
        Assert.Equal(SessionEndReason.Revoked, (await other.ReadUntilAsync(FrameType.GoAway)).GoAway.Reason);
        await agent.SyncAsync();

        Write(text => text.Replace("\"created\"", $"\"expires\":\"{_time.GetUtcNow():O}\",\"created\"", StringComparison.Ordinal));
        var goAway = (await agent.ReadUntilAsync(FrameType.GoAway)).GoAway;
        Assert.Equal("The agent's token has expired.", goAway.Text);

        EntrySession Session(string name) => entry.Directory.Snapshot().Single(session => session.Name == name);

        void Write(Func<string, string> change)
        {
            var path = Path.Combine(TokenFolder, "ci.json");
            var before = File.ReadAllText(path);
            var after = change(before);
            Assert.NotEqual(before, after);
            if (isReplaced)
            {
                File.WriteAllText(path + ".new", after);
                File.Move(path + ".new", path, overwrite: true);
            }
            else
            {
                File.WriteAllText(path, after);
            }

            _time.Advance(ReloadLoop.Period);
        }
    }

    [Fact]
    public async Task A_file_that_is_half_written_ends_no_session_and_one_that_stays_broken_does()
    {
        await using var entry = await StartAsync();
        using var api = new AdminApi(entry);
        var token = await api.CreateTokenAsync("""{"name":"ci","names":["web"]}""");
        await using var agent = await ConnectAsync(entry, "web", token);
        var path = Path.Combine(TokenFolder, "ci.json");
        var whole = await File.ReadAllTextAsync(path);
        await File.WriteAllTextAsync(path, whole[..(whole.Length / 2)]);
        _time.Advance(ReloadLoop.Period);
        await entry.Log.WaitForAsync(2232);
        await agent.SyncAsync();
        await File.WriteAllTextAsync(path, whole);
        _time.Advance(ReloadLoop.Period);
        _time.Advance(ReloadLoop.Period);
        await agent.SyncAsync();
        await File.WriteAllTextAsync(path, "{");
        await WaitSignal.UntilAsync(
            () =>
            {
                _time.Advance(ReloadLoop.Period);
                return entry.Directory.Count == 0;
            },
            "the session has ended");
        Assert.Equal(SessionEndReason.Revoked, (await agent.ReadUntilAsync(FrameType.GoAway)).GoAway.Reason);
    }

    [Fact]
    public async Task A_token_may_be_a_further_one_of_an_agent_of_the_settings_and_has_its_rules()
    {
        await using var entry = await StartAsync(
            $"Agents:web:TokenHash={EntryTokens.HashSetting("old")}", "Agents:web:Names=web", "Agents:web:Tier=free",
            "Agents:web:DenyIp=127.0.0.1", "Agents:web:Sessions=1");
        using var api = new AdminApi(entry);
        var token = await api.CreateTokenAsync("""{"name":"rotated","agent":"web","names":["web"]}""");
        await using var agent = await ConnectAsync(entry, "web", token);
        Assert.Equal("free", Text(await api.GetAsync("sessions/web"), "tier"));
        Assert.NotNull(entry.Session.Access);
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        Assert.Equal(403, (await visitor.ExchangeAsync("/", "web.localhost")).Head.StatusCode);

        // Both are the agent web, to which the name belongs: with the old token it takes its name over.
        await using var old = await ConnectAsync(entry, "web", "old");
        await api.SendAsync("DELETE", "tokens/rotated");
        await old.SyncAsync();
    }

    [Fact]
    public async Task A_token_of_another_server_and_one_name_too_many_are_refused()
    {
        await using var entry = await StartAsync();
        using var elsewhere = new TemporaryFolder();
        await using var other = await EntryFixture.StartAsync(null, "StateFolder=" + elsewhere["state"]);
        using var api = new AdminApi(entry);
        using var foreign = new AdminApi(other);
        var token = await foreign.CreateTokenAsync("""{"name":"web","names":["web"]}""");
        Assert.Equal(RejectCode.Unauthorized, (await AskAsync(entry, "web", token)).Code);
        await api.CreateTokenAsync("""{"name":"web","names":["web"]}""");
        await api.RefusedAsync(409, "name-taken", "POST", "tokens", """{"name":"web","names":["other"]}""");
        var many = string.Join(',', Enumerable.Range(0, 21).Select(static i => $"\"n{i}\""));
        await api.RefusedAsync(400, "token", "POST", "tokens", $$"""{"name":"many","names":[{{many}}]}""");
        Assert.Equal(["web"], (await api.GetAsync("tokens")).GetProperty("tokens").EnumerateArray().Select(one => Text(one, "name")));
    }

    [Fact]
    public async Task A_state_folder_that_cannot_be_written_refuses_the_change()
    {
        await using var entry = await StartAsync();

        // As a volume that is taken away: what was a folder at the start takes no file any more.
        Directory.CreateDirectory(_folder["state"]);
        Directory.Delete(_folder["state"], recursive: true);
        await File.WriteAllTextAsync(_folder["state"], "a file");
        using var api = new AdminApi(entry);
        await api.RefusedAsync(503, "state-folder", "POST", "tokens", """{"name":"web","names":["web"]}""");
        Assert.Empty((await api.GetAsync("tokens")).GetProperty("tokens").EnumerateArray());
    }

    [Fact]
    public async Task Uses_are_written_down_at_most_once_a_minute()
    {
        await using var entry = await StartAsync();
        using var api = new AdminApi(entry);
        var token = await api.CreateTokenAsync("""{"name":"web","names":["web-*"]}""");
        await using var first = await ConnectAsync(entry, "web-1", token);
        _time.Advance(ReloadLoop.Period);
        Assert.False(File.Exists(_folder["state/token-uses.json"]));
        _time.Advance(IssuedTokens.UsesPeriod);
        await WaitSignal.UntilAsync(() => File.Exists(_folder["state/token-uses.json"]), "the use is written down");
    }

    public void Dispose() => _folder.Dispose();

    private static async Task<RawUplink> ConnectAsync(EntryFixture entry, string name, string token)
    {
        var peer = await RawUplink.ConnectAsync(entry.Uplink);
        await peer.SendAsync(Hello(name, token).ToFrame());
        Assert.Equal(FrameType.Welcome, (await peer.ReadAsync())?.Type);
        return peer;
    }

    private static async Task<RejectMessage> AskAsync(EntryFixture entry, string name, string token)
    {
        await using var peer = await RawUplink.ConnectAsync(entry.Uplink);
        await peer.SendAsync(Hello(name, token).ToFrame());
        return Assert.Single(await peer.ReadToEndAsync()).Reject;
    }

    private static HelloMessage Hello(string name, string token) =>
        RawUplink.Hello(name) with { ProofKind = TokenProofKind.Bearer, Proof = Encoding.UTF8.GetBytes(token) };

    private static string Text(JsonElement element, string member) => element.GetProperty(member).GetString()!;

    private Task<EntryFixture> StartAsync(params string[] settings) =>
        EntryFixture.StartAsync(_time, ["StateFolder=" + _folder["state"], "Uplink:FailuresPerMinute=0", .. settings]);
}
