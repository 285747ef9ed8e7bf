using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>Mistakes at the start, and what the programs say about them.</summary>
public sealed class StartTests(SharedTunnels tunnels)
{
    [Fact]
    public async Task All_wrong_settings_are_listed_each_with_its_key()
    {
        await using var entry = BuiltPrograms.StartEntry(
        [
            "--Tunnel2:Public:HttpListen=nowhere", "--Tunnel2:Engine=fast", "--Tunnel2:Timeouts:BodyIdle=-4",
            "--Tunnel2:Domian=example.org",
        ]);

        var (exitCode, output) = await Shell.FinishAsync(entry);

        Assert.Equal(2, exitCode);
        Assert.All(
            ["Tunnel2:Public:HttpListen: ", "Tunnel2:Engine: ", "Tunnel2:Timeouts:BodyIdle: ", "did you mean Tunnel2:Domain?"],
            part => Assert.Contains(part, output, StringComparison.Ordinal));
        Assert.DoesNotContain("   at ", output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("0", null, "is not between 1 and 32")]
    [InlineData("33", null, "is not between 1 and 32")]
    [InlineData("many", null, "is neither a whole number nor auto")]
    [InlineData("32", 250, "32 event loops need 328 files, and this process may have only 250 open")]
    public async Task Loops_that_cannot_be_are_reported_with_all_other_mistakes(string loops, int? files, string words)
    {
        await using var entry = BuiltPrograms.StartEntry(
            [$"--Tunnel2:Loops={loops}", "--Tunnel2:Engine=quick", "--Tunnel2:Timeouts:BodyIdle=-4"], files);

        var (exitCode, output) = await Shell.FinishAsync(entry);

        Assert.Equal(2, exitCode);
        Assert.All(
            ["Tunnel2:Loops: ", words, "Tunnel2:Engine: ", "Tunnel2:Timeouts:BodyIdle: "],
            part => Assert.Contains(part, output, StringComparison.Ordinal));
        Assert.DoesNotContain("   at ", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task As_many_loops_as_the_files_allow_start_and_count_among_what_is_open()
    {
        const int Files = 340;
        await using var entry = await EntryProcess.StartWithFilesAsync(Files, "--Tunnel2:Loops=32");
        Assert.Contains(entry.Runner.Lines, static line => line.Contains("event loops: 32,", StringComparison.Ordinal));

        // The loops' own descriptors are not promised to connections.
        var open = Directory.EnumerateFileSystemEntries($"/proc/{entry.Runner.Id}/fd").Count();
        var promised = entry.Runner.Lines.Single(static line => line.Contains("connections of visitors at once", StringComparison.Ordinal));
        var visitors = int.Parse(promised.Split("open: ")[1].Split(' ')[0], System.Globalization.CultureInfo.InvariantCulture);
        Assert.True(open >= 32 * 3, $"{open} open");
        Assert.True(open + visitors < Files, $"{open} open and {visitors} promised of {Files}");
    }

    [Theory]
    [InlineData("Tunnel2:Public:HttpListen")]
    [InlineData("Tunnel2:Uplink:Listen")]
    [InlineData("Tunnel2:Admin:Listen")]
    public async Task A_port_in_use_is_named_with_its_setting(string key)
    {
        var tunnel = await tunnels.GetAsync();
        var used = tunnel.BackendAddress.Port;
        string[] keys = ["Tunnel2:Public:HttpListen", "Tunnel2:Uplink:Listen", "Tunnel2:Admin:Listen"];
        await using var entry = BuiltPrograms.StartEntry(keys.Select(k => $"--{k}=127.0.0.1:{(k == key ? used : FreePort.Next())}"));

        var (exitCode, output) = await Shell.FinishAsync(entry);

        Assert.Equal(1, exitCode);
        Assert.Contains($"127.0.0.1:{used}", output, StringComparison.Ordinal);
        Assert.Contains("address already in use", output, StringComparison.OrdinalIgnoreCase);
        Assert.Contains(key, output, StringComparison.Ordinal);
        Assert.DoesNotContain("   at ", output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Tunnel2:Public:HttpListen")]
    [InlineData("Tunnel2:Uplink:Listen")]
    public async Task An_address_of_another_machine_is_named_with_its_setting(string key)
    {
        // 192.0.2.0/24 is for documentation (RFC 5737): no machine has it.
        const string Elsewhere = "192.0.2.1:8080";
        string[] keys = ["Tunnel2:Public:HttpListen", "Tunnel2:Uplink:Listen", "Tunnel2:Admin:Listen"];
        await using var entry = BuiltPrograms.StartEntry(
        [
            .. keys.Select(k => $"--{k}={(k == key ? Elsewhere : $"127.0.0.1:{FreePort.Next()}")}"),
            "--Tunnel2:AllowAnonymousAgents=true", "--Tunnel2:Uplink:AllowPlaintext=true",
        ]);

        var (exitCode, output) = await Shell.FinishAsync(entry);

        Assert.Equal(1, exitCode);
        Assert.Contains(Elsewhere, output, StringComparison.Ordinal);
        Assert.Contains(key, output, StringComparison.Ordinal);
        Assert.DoesNotContain("   at ", output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("http", "3000", "--nme", "web")]
    [InlineData("http", "70000")]
    [InlineData("http")]
    [InlineData("http", "3000", "--name", "-web-")]
    [InlineData("http", "3000", "--uplinks", "many")]
    [InlineData("ftp", "3000")]
    public async Task A_wrong_command_line_gets_one_line_and_the_usage(params string[] arguments)
    {
        await using var agent = BuiltPrograms.StartAgent(arguments);

        var (exitCode, output) = await Shell.FinishAsync(agent);

        Assert.Equal(2, exitCode);
        var lines = output.Split('\n');
        Assert.StartsWith("tunnel2: ", lines[0], StringComparison.Ordinal);
        Assert.StartsWith("Usage: tunnel2 http <port", lines[1], StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_agent_without_a_server_ends_with_4_if_its_setting_says_so()
    {
        using var port = new RefusedPort();
        await using var agent = BuiltPrograms.StartAgent(["http", "3000", "--server", $"127.0.0.1:{port.Port}", "--exit-on-failure"]);

        var (exitCode, output) = await Shell.FinishAsync(agent);

        Assert.Equal(4, exitCode);
        Assert.Contains($"127.0.0.1:{port.Port}: connection refused", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_agent_without_a_server_waits_for_it_and_serves_when_it_comes()
    {
        await using var entry = await EntryProcess.StartAsync();
        entry.Runner.Kill();
        await entry.Runner.WaitForExitAsync();
        await using var agent = BuiltPrograms.StartAgent(["http", "3000", "--server", $"{entry.Uplink}"]);
        await agent.WaitForLineAsync(static line => line.Contains("connection refused", StringComparison.Ordinal));

        await entry.StartAgainAsync();

        await agent.WaitForLineAsync(static line => line.StartsWith("Forwarding ", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task An_agent_that_reaches_an_HTTP_server_says_that_something_else_answers(bool isPublicPort)
    {
        var tunnel = await tunnels.GetAsync();
        var port = isPublicPort ? tunnel.Entry.Public.Port : tunnel.BackendAddress.Port;
        await using var agent = BuiltPrograms.StartAgent(["http", "3000", "--server", $"127.0.0.1:{port}", "--exit-on-failure"]);

        var (exitCode, output) = await Shell.FinishAsync(agent);

        Assert.Equal(4, exitCode);
        Assert.Contains(
            $"Something else than a Tunnel2 server answers at "
                + $"127.0.0.1:{port}{(isPublicPort ? ". It is the server's public port" : ": an HTTP server")}",
            output,
            StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_visitor_of_the_uplink_port_is_not_left_waiting()
    {
        var tunnel = await tunnels.GetAsync();

        var result = await Shell.CurlAsync("--max-time", "5", $"http://{tunnel.Entry.Uplink}/");

        Assert.NotEqual(0, result.ExitCode);
        Assert.DoesNotContain("timed out", result.Output, StringComparison.Ordinal);
    }
}
