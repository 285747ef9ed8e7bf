using System.Text.Json;
using System.Text.RegularExpressions;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Pools;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.ProxyEntry.Hosting;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Administration;

/// <summary>The commands of <c>tunnel2-entry</c> that ask a running server.</summary>
public sealed class CommandTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();

    [Fact]
    public async Task Tokens_are_made_listed_and_revoked()
    {
        await using var entry = await EntryFixture.StartAsync(null, "StateFolder=" + _folder["state"]);
        var (code, output, error) = await RunAsync(
            entry, "token", "create", "--keep", "--name", "ci", "--names", "ci-*,web", "--tier", "pro", "--expires", "30d");
        Assert.Equal((0, ""), (code, error));
        Assert.Matches("\n  t2_[A-Za-z0-9_-]{43}\n", output);
        Assert.Contains("Agent ci, names ci-*, web, tier pro, until ", output, StringComparison.Ordinal);

        using var made = JsonDocument.Parse((await RunAsync(entry, "token", "create", "--keep", "--name", "b", "--json")).Output);
        Assert.Equal(["b"], made.RootElement.GetProperty("info").GetProperty("names").EnumerateArray().Select(one => one.GetString()));
        var lines = (await RunAsync(entry, "token", "list")).Output.Split('\n');
        Assert.Matches("^NAME +AGENT +NAMES +TIER +ENDS +LAST USED +SESSIONS$", lines[0]);
        Assert.Matches("^b +b +b +– +never +never +0$", lines[1]);
        Assert.Matches("^ci +ci +ci-[*],web +pro +20.+Z +never +0$", lines[2]);

        Assert.Equal((0, "ci is revoked; 0 sessions were ended\n", ""), await RunAsync(entry, "token", "revoke", "ci"));
        (code, output, error) = await RunAsync(entry, "token", "revoke", "ci");
        Assert.Equal((1, ""), (code, output));
        Assert.Matches(@"^tunnel2-entry: .+ \[no-token\]\n$", error);
        (_, _, error) = await RunAsync(entry, "token", "create", "--keep", "--name", "b");
        Assert.Contains("[name-taken]", error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Sessions_are_listed_drained_and_ended()
    {
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await using var entry = await EntryFixture.StartAsync();
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, backend.Port));
        var lines = (await RunAsync(entry, "sessions", "list", "--name", "w*")).Output.Split('\n');
        Assert.Matches("^NAME +SESSION +AGENT +KIND +STATE +POOL +UPLINKS +OPEN +SINCE +URL$", lines[0]);
        Assert.Matches("^web +[0-9a-f]{8} +anonymous +http +serving +[0-9]+ +0 +20.+Z +http://web.localhost:[0-9]+$", lines[1]);
        using (var list = JsonDocument.Parse((await RunAsync(entry, "sessions", "list", "--agent", "nobody", "--json")).Output))
        {
            Assert.Equal(0, list.RootElement.GetProperty("total").GetInt32());
        }

        Assert.Equal(0, (await RunAsync(entry, "sessions", "drain", "web")).Code);
        await agent.Events.ReadyCount.WaitForAsync(2);
        await entry.UntilAsync(() => entry.Directory.Snapshot() is [{ IsLeaving: false }], "the agent is back");
        Assert.Equal((0, "web was ended; its agent may connect again\n", ""), await RunAsync(entry, "sessions", "kick", "web"));
        await agent.Events.ReadyCount.WaitForAsync(3);
        Assert.Equal(1, (await RunAsync(entry, "sessions", "kick", "none")).Code);
    }

    [Fact]
    public async Task Agents_that_share_a_name_are_listed_with_their_health_and_one_is_named_by_its_flag()
    {
        await using var pool = await PooledAgents.StartAsync(2, [], static options => options with
        {
            Health = new HealthCheck("/check") { Interval = TimeSpan.FromMilliseconds(50), Failures = 1, Successes = 1 },
        });
        await pool.UntilHealthyAsync(2);
        pool.Services[0].IsWell = false;
        await pool.UntilHealthyAsync(1);
        var lines = (await RunAsync(pool.Entry, "sessions", "list")).Output.Split('\n');
        Assert.Single(lines, static line => line.Contains(" serving  unhealthy ", StringComparison.Ordinal));
        Assert.Single(lines, static line => Regex.IsMatch(line, " serving +(healthy|slow start, [0-9]+ %) "));

        var (code, _, error) = await RunAsync(pool.Entry, "sessions", "drain", "web");
        Assert.Equal(1, code);
        Assert.Contains("--session", error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Policies_are_set_shown_listed_and_removed()
    {
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await using var entry = await EntryFixture.StartAsync(null, "StateFolder=" + _folder["state"]);
        await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, backend.Port));
        var (file, wrong, again) = (_folder["policy.json"], _folder["wrong.json"], _folder["again.json"]);
        await File.WriteAllTextAsync(file, """[ { "path": "/a", "deny": true }, ] // remarks""");
        await File.WriteAllTextAsync(wrong, """[ { "path": "a", "deny": true }, { "allow": 1 } ]""");
        Assert.Equal(
            (0, "the policy of name web is set; rows: 1, sessions: 1\n", ""),
            await RunAsync(entry, "policies", "set", file, "--name", "web"));
        Assert.NotNull(entry.Session.Policy);

        // What is shown can be set again.
        var (code, shown, error) = await RunAsync(entry, "policies", "show", "--name", "web");
        Assert.Equal((0, ""), (code, error));
        await File.WriteAllTextAsync(again, shown);
        Assert.Equal(0, (await RunAsync(entry, "policies", "set", again, "--name", "web", "--json")).Code);
        var lines = (await RunAsync(entry, "policies", "list")).Output.Split('\n');
        Assert.Matches("^FOR +NAME +ROWS +OF SETTINGS +CHANGED +SESSIONS +PROBLEM$", lines[0]);
        Assert.Matches("^name +web +1 +0 +20.+Z +1$", lines[1]);

        (code, _, error) = await RunAsync(entry, "policies", "set", wrong, "--name", "web");
        Assert.Equal(1, code);
        Assert.Matches(@"mistakes, and nothing has changed\. \[policy\]\n  row 1 \(line 1\): .+\n  row 2 \(line 1\): ", error);
        Assert.Contains("[no-token]", (await RunAsync(entry, "policies", "set", file, "--token", "none")).Error, StringComparison.Ordinal);
        Assert.Contains("cannot be read", (await RunAsync(entry, "policies", "set", _folder["none"], "--name", "web")).Error,
            StringComparison.Ordinal);
        Assert.Equal((0, "the policy is removed\n", ""), await RunAsync(entry, "policies", "remove", "--name", "web"));
        Assert.Null(entry.Session.Policy);
        Assert.Contains("[no-policy]", (await RunAsync(entry, "policies", "show", "--name", "web")).Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Agents_and_requests_are_listed()
    {
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await using var entry = await EntryFixture.StartAsync(
            null, $"Agents:a:TokenHash={EntryTokens.HashSetting("t1")}", "Agents:a:Names=web", "Agents:a:Tier=pro");
        await using var agent = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(entry.Uplink.Port, backend.Port) with { Token = "t1" });
        await using (var visitor = await RawHttpClient.ConnectAsync(entry.Http))
        {
            Assert.Equal(200, (await visitor.ExchangeAsync("/shown", TunnelFixture.Host)).Head.StatusCode);
        }

        var lines = (await RunAsync(entry, "agents", "list")).Output.Split('\n');
        Assert.Matches("^AGENT +NAMES +TIER +CERTIFICATE +SESSIONS$", lines[0]);
        Assert.Matches("^a +web +pro +no +1$", lines[1]);
        await entry.WaitForRecordsAsync(1);
        lines = (await RunAsync(entry, "requests", "list", "web")).Output.Split('\n');
        Assert.Matches("^STARTED +STATUS +METHOD +MS +IN +OUT +TARGET +ERROR$", lines[0]);
        Assert.Matches("^20.+Z +200 +GET +[0-9.]+ +0 +[0-9]+ +/shown$", lines[1]);
        using (var list = JsonDocument.Parse((await RunAsync(entry, "requests", "list", "web", "--limit", "1", "--json")).Output))
        {
            Assert.Equal(1, list.RootElement.GetProperty("requests").GetArrayLength());
        }

        Assert.Contains("[no-session]", (await RunAsync(entry, "requests", "list", "none")).Error, StringComparison.Ordinal);
        Assert.Contains("[parameter]", (await RunAsync(entry, "requests", "list", "web", "--limit", "0")).Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_token_is_asked_for_and_another_server_is_none()
    {
        await using var entry = await EntryFixture.StartAsync(null, "Admin:Token=admin-secret");
        var (code, output, error) = await RunAsync(entry, "sessions", "list");
        Assert.Equal((1, ""), (code, output));
        Assert.Contains("TUNNEL2_ADMIN_TOKEN", error, StringComparison.Ordinal);

        // Of the settings, to the server of the settings.
        using var text = new StringWriter { NewLine = "\n" };
        string[] settings = [$"--Tunnel2:Admin:Listen={entry.Admin}", "--Tunnel2:Admin:Token=admin-secret"];
        Assert.Equal(0, await SessionsCommand.RunAsync(["sessions", "list", .. settings], text, TextWriter.Null));
        Assert.Equal(1, await SessionsCommand.RunAsync(
            ["sessions", "list", "--admin", $"http://{entry.Admin}", .. settings], TextWriter.Null, TextWriter.Null));

        Assert.Equal(0, await SessionsCommand.RunAsync(
            ["sessions", "list", "--admin", $"http://{entry.Admin}"], TextWriter.Null, TextWriter.Null, OfToken));

        await using var other = RawTcpServer.Start(async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
            await connection.WaitForEndAsync();
        });
        using var words = new StringWriter { NewLine = "\n" };
        Assert.Equal(1, await SessionsCommand.RunAsync(
            ["sessions", "list", "--admin", $"http://127.0.0.1:{other.Port}"], TextWriter.Null, words));
        Assert.Equal("tunnel2-entry: the answer is not that of a Tunnel2 server\n", words.ToString());
    }

    [Theory]
    [InlineData("sessions")]
    [InlineData("sessions stop web")]
    [InlineData("sessions list web")]
    [InlineData("sessions list --limit 5")]
    [InlineData("sessions drain")]
    [InlineData("sessions kick a b")]
    [InlineData("sessions list --name")]
    [InlineData("sessions list --name a --name b")]
    [InlineData("sessions list --admin 127.0.0.1:12002")]
    [InlineData("sessions list --admin ftp://127.0.0.1")]
    [InlineData("sessions list --admin http://user:secret@127.0.0.1")]
    [InlineData("token list web")]
    [InlineData("token revoke")]
    [InlineData("token create --keep")]
    [InlineData("token create --keep --name a --colour red")]
    [InlineData("token create --keep --name a --expires soon")]
    [InlineData("token create --keep --name a --expires 0d")]
    [InlineData("token create --keep --name a --expires 2147483647h")]
    [InlineData("sessions list --Tunnel2:Admin:Listen=nowhere")]
    [InlineData("policies")]
    [InlineData("policies list web")]
    [InlineData("policies show")]
    [InlineData("policies show web")]
    [InlineData("policies set --name web")]
    [InlineData("policies set policy.json")]
    [InlineData("policies set policy.json --name web --token ci")]
    [InlineData("policies remove --nmae web")]
    [InlineData("agents")]
    [InlineData("agents list web")]
    [InlineData("requests list")]
    [InlineData("requests list a b")]
    public async Task A_wrong_command_line_is_said_and_asks_no_server(string line)
    {
        using var error = new StringWriter { NewLine = "\n" };
        Assert.Equal(2, await RunAsync(line.Split(' '), TextWriter.Null, error));
        Assert.StartsWith("tunnel2-entry: ", error.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain("secret@", error.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("http://192.0.2.1:12002")]
    [InlineData("http://entry.example:12002")]
    public async Task The_token_leaves_the_machine_only_encrypted(string address)
    {
        using var error = new StringWriter();
        Assert.Equal(2, await TokensCommand.RunAsync(["token", "list", "--admin", address], TextWriter.Null, error, OfToken));
        Assert.Contains("unencrypted", error.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain("admin-secret", error.ToString(), StringComparison.Ordinal);
    }

    public void Dispose() => _folder.Dispose();

    private static string? OfToken(string variable) => variable == EntryApiClient.TokenVariable ? "admin-secret" : null;

    private static async Task<(int Code, string Output, string Error)> RunAsync(EntryFixture entry, params string[] words)
    {
        using var output = new StringWriter { NewLine = "\n" };
        using var error = new StringWriter { NewLine = "\n" };
        string[] all = [.. words, "--admin", $"http://{entry.Admin}"];
        var code = await RunAsync(all, output, error);
        return (code, output.ToString(), error.ToString());
    }

    private static Task<int> RunAsync(string[] words, TextWriter output, TextWriter error) => words[0] switch
    {
        "token" => TokensCommand.RunAsync(words, output, error),
        "policies" => PoliciesCommand.RunAsync(words, output, error),
        "agents" => AgentsCommand.RunAsync(words, output, error),
        "requests" => RequestsCommand.RunAsync(words, output, error),
        _ => SessionsCommand.RunAsync(words, output, error),
    };
}
