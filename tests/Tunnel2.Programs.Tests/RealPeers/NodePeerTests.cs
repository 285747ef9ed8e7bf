using System.Globalization;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>Clients and servers of the node world: ws, undici, and a site in a browser.</summary>
public sealed class NodePeerTests(SharedTunnels tunnels)
{
    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task The_ws_package_speaks_with_itself_through_the_tunnel(string engine)
    {
        await using var server = NodeScripts.Start("ws-server.mjs");
        var port = await ReadPortAsync(server);
        await using var entry = await EntryProcess.StartAsync($"--Tunnel2:Engine={engine}");
        await using var agent = await RealTunnel.StartAgentAsync(entry, port, engine);

        await using var client = NodeScripts.Start("ws-client.mjs", $"ws://{RealTunnel.Name}.localhost:{entry.Public.Port}");
        var result = (await Shell.FinishAsync(client)).EnsureSuccess();

        Assert.Contains("ok 10000 messages come back in order", result.Output, StringComparison.Ordinal);
        // How the client closed, as the server learned it.
        await server.WaitForLineAsync(static line => line == "closed /echo 1000");
        await server.WaitForLineAsync(static line => line == "closed /echo 1001 going away");
        await server.WaitForLineAsync(static line => line == "closed /echo 4000 our own reason: Grüße");
        await server.WaitForLineAsync(static line => line == "closed /echo 1006");
        Assert.DoesNotContain(server.Lines, static line => line.StartsWith("error ", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Undici_speaks_with_the_backend_through_the_tunnel()
    {
        var tunnel = await tunnels.GetAsync();
        await using var client = NodeScripts.Start(
            "undici-client.mjs", tunnel.Url, tunnel.Url.Replace("http:", "ws:", StringComparison.Ordinal));

        (await Shell.FinishAsync(client)).EnsureSuccess();
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task A_page_with_100_assets_loads_in_chromium_without_an_error(string engine)
    {
        SharedChromium.AssertInstalled();
        await using var site = NodeScripts.Start("site-server.mjs");
        var port = await ReadPortAsync(site);
        await using var entry = await EntryProcess.StartAsync($"--Tunnel2:Engine={engine}");
        await using var agent = await RealTunnel.StartAgentAsync(entry, port, engine);
        using var folder = new TemporaryFolder();
        var screenshot = Environment.GetEnvironmentVariable("TUNNEL2_SCREENSHOT") ?? folder["page.png"];

        await using var browser = await SharedChromium.StartPageAsync(
            "page.mjs", $"http://{RealTunnel.Name}.localhost:{entry.Public.Port}/", screenshot);
        var result = (await Shell.FinishAsync(browser)).EnsureSuccess();

        TestContext.Current.TestOutputHelper?.WriteLine(result.Output);
        Assert.Contains("assets 100", result.Output, StringComparison.Ordinal);
        Assert.Contains("errors 0", result.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_compressed_answer_stays_compressed_until_curl_opens_it()
    {
        await using var site = NodeScripts.Start("site-server.mjs");
        var port = await ReadPortAsync(site);
        await using var entry = await EntryProcess.StartAsync();
        await using var agent = await RealTunnel.StartAgentAsync(entry, port);
        var url = $"http://{RealTunnel.Name}.localhost:{entry.Public.Port}/modules/m29.js";
        using var folder = new TemporaryFolder();

        var plain = await Shell.CurlAsync("-o", folder["plain"], "-w", "%{size_download}", url);
        var compressed = await Shell.CurlAsync("--compressed", "-D", folder["head"], "-o", folder["opened"], "-w", "%{size_download}", url);

        Assert.Equal(await File.ReadAllBytesAsync(folder["plain"]), await File.ReadAllBytesAsync(folder["opened"]));
        Assert.Contains("content-encoding: br", await File.ReadAllTextAsync(folder["head"]), StringComparison.OrdinalIgnoreCase);
        var onTheWire = int.Parse(compressed.EnsureSuccess().Output, CultureInfo.InvariantCulture);
        Assert.InRange(onTheWire, 1, int.Parse(plain.EnsureSuccess().Output, CultureInfo.InvariantCulture) / 2);
    }

    private static async Task<int> ReadPortAsync(ProcessRunner server)
    {
        const string Listening = "listening ";
        var line = await server.WaitForLineAsync(static line => line.StartsWith(Listening, StringComparison.Ordinal), Limits.Start);
        return int.Parse(line.AsSpan(Listening.Length), CultureInfo.InvariantCulture);
    }
}
