using System.Runtime.Versioning;
using System.Text.RegularExpressions;
using Tunnel2.FunctionalTests.Https;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.FunctionalTests.Uplinks.Security;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Https;

/// <summary>
/// A server with a domain at the ports 80 and 443 of a machine of its own, with the settings of docs/tutorials/server.md and a real
/// authority (Debian's <c>pebble</c>): certificates by each proof, the redirect, and a domain that is claimed by a page.
/// </summary>
[UnsupportedOSPlatform("windows")]
public sealed partial class UsualPortsTests : IDisposable
{
    private const string Domain = "app.example.org";
    private const string Text = "hello from the service";
    private const string Service = "3000";

    private readonly TemporaryFolder _folder = new();
    private readonly TestAuthority _authority = new();
    private readonly int _port = FreePort.Next();

    public void Dispose()
    {
        _authority.Dispose();
        _folder.Dispose();
    }

    [Theory]
    [InlineData("http-01")]
    [InlineData("tls-alpn-01")]
    public async Task A_name_and_a_domain_get_certificates_as_the_tutorial_says(string challenge)
    {
        await SkipWithoutAsync();
        await using var network = await OwnNetwork.StartAsync(_folder);
        await using var pebble = await StartPebbleAsync(network);
        await StartServiceAsync(network);
        var token = await CreateTokenAsync(network);
        var entry = await StartEntryAsync(
            network, [.. token.Settings, $"Tunnel2__Agents__web__Names=web,{Domain}", "Tunnel2__Acme__Challenge=" + challenge]);

        var login = network.StartBuilt(
            BuiltPrograms.AgentPath, ["login", "tunnel.example.com", "--trust-fingerprint", entry.Fingerprint], Agent(token.Token));
        Assert.Equal(0, await login.WaitForExitAsync(Limits.Start));
        var agent = network.StartBuilt(
            BuiltPrograms.AgentPath, ["http", Service, "--name", "web", "--domain", Domain], Agent(null));
        foreach (var name in (string[])["web.example.com", Domain])
        {
            await ForwardsAsync(agent, name);
            await AssertServedAsync(network, pebble, entry.Process, name);
            Assert.Contains(name, await CommandAsync("list"), StringComparison.Ordinal);
        }

        await CommandAsync("test");
        entry.Process.Terminate();
        Assert.Equal(0, await entry.Process.WaitForExitAsync(Limits.Start));

        async Task<string> CommandAsync(string command) => (await Shell.FinishAsync(
            network.StartBuilt(BuiltPrograms.EntryPath, ["certificate", command], entry.Environment), Limits.Start)).EnsureSuccess().Output;
    }

    [Fact]
    public async Task A_domain_is_proved_by_a_page_moves_to_the_server_and_gets_its_certificate()
    {
        await SkipWithoutAsync();
        await using var network = await OwnNetwork.StartAsync(_folder);
        await using var pebble = await StartPebbleAsync(network);
        await StartServiceAsync(network);
        var token = await CreateTokenAsync(network);
        var entry = await StartEntryAsync(
            network, [.. token.Settings, "Tunnel2__Agents__web__Names=*.*", "Tunnel2__Domains__HttpProof=any"]);
        await network.LeadAsync(Domain, OwnNetwork.There);

        // The refusal says which page would do.
        string[] claim =
            ["http", Service, "--domain", Domain, "--server", "tunnel.example.com", "--server-fingerprint", entry.Fingerprint];
        var refused = network.StartBuilt(BuiltPrograms.AgentPath, claim, Agent(token.Token));
        Assert.Equal(3, await refused.WaitForExitAsync(Limits.Start));
        var said = string.Join('\n', refused.Lines);
        var page = PagePattern().Match(said);
        var proof = ProofPattern().Match(said);
        Assert.True(page.Success && proof.Success, said);

        // Its owner puts it on the machine that the domain leads to now.
        var path = _folder["old" + page.Groups["path"].Value];
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        await File.WriteAllTextAsync(path, proof.Value + "\n", TestContext.Current.CancellationToken);
        var old = network.StartThere(
            "python3", ["-u", "-m", "http.server", "80", "--bind", OwnNetwork.There, "--directory", _folder["old"]]);
        await old.WaitForLineAsync(static line => line.StartsWith("Serving HTTP", StringComparison.Ordinal), Limits.Start);
        var agent = network.StartBuilt(BuiltPrograms.AgentPath, claim, Agent(token.Token));
        await ForwardsAsync(agent, Domain);

        await network.LeadAsync(Domain, OwnNetwork.Here);
        await AssertServedAsync(network, pebble, entry.Process, Domain);
    }

    [GeneratedRegex("""http://app\.example\.org(?<path>/\.well-known/tunnel2-challenge/[A-Za-z0-9_-]+)""")]
    private static partial Regex PagePattern();

    [GeneratedRegex("tunnel2-proof=[A-Za-z0-9_-]+")]
    private static partial Regex ProofPattern();

    private static async Task SkipWithoutAsync()
    {
        await OwnNetwork.SkipWithoutAsync();
        await Pebble.SkipWithoutAsync();
    }

    /// <summary>The settings of step 3 of the tutorial.</summary>
    private static IEnumerable<string> TutorialSettings() =>
        File.ReadLines(Path.Combine(RepositoryFolder.Path, "docs/tutorials/server.md"))
            .Where(static line => line.StartsWith("Tunnel2__", StringComparison.Ordinal));

    private static Task<string> ForwardsAsync(ProcessRunner agent, string name) =>
        agent.WaitForLineAsync(line => line.Contains($"Forwarding https://{name} -> ", StringComparison.Ordinal), Limits.Start);

    /// <summary>Step 2: a token, and the settings which it prints.</summary>
    private static async Task<(string Token, string[] Settings)> CreateTokenAsync(OwnNetwork network)
    {
        var created = await Shell.FinishAsync(
            network.StartBuilt(BuiltPrograms.EntryPath, ["token", "create", "--name", "web"]), Limits.Start);
        var lines = created.EnsureSuccess().Output.Split('\n', StringSplitOptions.TrimEntries);
        return (
            Assert.Single(lines, static line => line.StartsWith("t2_", StringComparison.Ordinal)),
            [.. lines.Where(static line => line.StartsWith("Tunnel2__", StringComparison.Ordinal))]);
    }

    private Task<Pebble> StartPebbleAsync(OwnNetwork network) =>
        Pebble.StartAsync(_folder, _authority, _port, (80, 443), network: network.Start);

    private async Task StartServiceAsync(OwnNetwork network)
    {
        Directory.CreateDirectory(_folder["site"]);
        await File.WriteAllTextAsync(_folder["site/index.html"], Text, TestContext.Current.CancellationToken);
        var service = network.Start(
            "python3", ["-u", "-m", "http.server", Service, "--bind", "127.0.0.1", "--directory", _folder["site"]]);
        await service.WaitForLineAsync(static line => line.StartsWith("Serving HTTP", StringComparison.Ordinal), Limits.Start);
    }

    /// <summary>Steps 3 and 4: the server with the tutorial's settings, and with this authority in the place of Let's Encrypt.</summary>
    private async Task<(ProcessRunner Process, string Fingerprint, Dictionary<string, string?> Environment)> StartEntryAsync(
        OwnNetwork network, string[] settings)
    {
        await File.WriteAllTextAsync(_folder["ca.pem"], _authority.Pem, TestContext.Current.CancellationToken);
        var environment = new Dictionary<string, string?>
        {
            ["XDG_RUNTIME_DIR"] = Directory.CreateDirectory(_folder["run"]).FullName,
        };
        foreach (var setting in (string[])
                 [
                     .. TutorialSettings(), .. settings, $"Tunnel2__Acme__Directory=https://localhost:{_port}/dir",
                     "Tunnel2__Acme__Ca=" + _folder["ca.pem"], "Tunnel2__StateFolder=" + _folder["state"],
                 ])
        {
            var parts = setting.Split('=', 2);
            environment[parts[0]] = parts[1];
        }

        Assert.Equal("*:443", environment["Tunnel2__Public__HttpsListen"]);
        var entry = network.StartBuilt(BuiltPrograms.EntryPath, [], environment);
        const string Flag = "--server-fingerprint ";
        var line = await entry.WaitForLineAsync(static line => line.Contains(Flag, StringComparison.Ordinal), Limits.Start);
        await entry.WaitForLineAsync(static line => line.Contains("Ready: ", StringComparison.Ordinal), Limits.Start);
        return (entry, line[(line.IndexOf(Flag, StringComparison.Ordinal) + Flag.Length)..].Split(' ')[0], environment);
    }

    /// <summary>What an agent has in its environment: a home of its own, for its login.</summary>
    private Dictionary<string, string?> Agent(string? token) => new()
    {
        ["XDG_CONFIG_HOME"] = Directory.CreateDirectory(_folder["config"]).FullName,
        ["XDG_STATE_HOME"] = Directory.CreateDirectory(_folder["agent"]).FullName,
        ["XDG_RUNTIME_DIR"] = Directory.CreateDirectory(_folder["run"]).FullName,
        ["TUNNEL2_TOKEN"] = token,
    };

    /// <summary>Step 6: the first visitor makes the server order a certificate; after that each one trusts what it gets.</summary>
    private async Task AssertServedAsync(OwnNetwork network, Pebble pebble, ProcessRunner entry, string name)
    {
        var root = _folder["root.pem"];
        (await network.CurlAsync(
            "--fail", "--cacert", _folder["ca.pem"], "-o", root, $"https://localhost:{pebble.Management}/roots/0")).EnsureSuccess();
        Assert.NotEqual(0, (await network.CurlAsync("--cacert", root, $"https://{name}/")).ExitCode);
        await entry.WaitForLineAsync(
            line => line.Contains($"Certificate for {name} issued by ", StringComparison.Ordinal), Limits.Start);
        var served = (await network.CurlAsync("--cacert", root, $"https://{name}/", "-w", "|%{http_code}|%{remote_ip}|%{remote_port}"))
            .EnsureSuccess();
        Assert.Equal($"{Text}|200|{OwnNetwork.Here}|443", served.Output);
        var redirected = (await network.CurlAsync($"http://{name}/a?b", "-o", "/dev/null", "-w", "%{http_code} %{redirect_url}"))
            .EnsureSuccess();
        Assert.Equal($"308 https://{name}/a?b", redirected.Output);
    }
}
