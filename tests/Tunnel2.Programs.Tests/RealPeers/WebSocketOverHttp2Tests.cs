using System.Globalization;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>
/// WebSockets of pages that came over HTTPS: browsers open them on the page's own HTTP/2 connection (RFC 8441). The access log says by the
/// method CONNECT that they came that way, the browser by the status 200.
/// </summary>
public sealed class WebSocketOverHttp2Tests
{
    public static TheoryData<string> Engines => SharedTunnels.Engines;

    [Theory]
    [MemberData(nameof(Engines))]
    public async Task An_edit_reaches_a_page_of_a_vite_server_over_HTTPS_without_a_reload(string engine)
    {
        SharedChromium.AssertInstalled();
        using var folder = new TemporaryFolder();
        await ViteProject.WriteAsync(folder);
        await using var vite = NodeScripts.Start("vite-server.mjs", folder["."], $"{FreePort.Next()}");
        await RunAsync(vite, engine, "tunnel.example", async (url, entry) =>
        {
            await using var browser = await SharedChromium.StartPageAsync("vite-page.mjs", url, folder["message.js"]);
            var result = (await Shell.FinishAsync(browser, TimeSpan.FromMinutes(2))).EnsureSuccess();

            Assert.Contains("updated without a reload", result.Output, StringComparison.Ordinal);
            Assert.Contains("handshakes 200", result.Output, StringComparison.Ordinal);
            await AssertCameOverHttp2Async(entry);
        });
    }

    [Theory]
    [MemberData(nameof(Engines))]
    public async Task A_page_speaks_with_the_ws_package(string engine)
    {
        SharedChromium.AssertInstalled();
        await using var server = NodeScripts.Start("ws-server.mjs");
        await RunAsync(server, engine, "localhost", async (url, entry) =>
        {
            await using var browser = await SharedChromium.StartPageAsync("ws-page.mjs", url);
            var result = (await Shell.FinishAsync(browser, TimeSpan.FromMinutes(2))).EnsureSuccess();

            TestContext.Current.TestOutputHelper?.WriteLine(result.Output);
            Assert.Contains("handshakes 200", result.Output, StringComparison.Ordinal);
            await server.WaitForLineAsync(static line => line == "closed /echo 4999 page");
            await AssertCameOverHttp2Async(entry);
        });
    }

    [Fact]
    public async Task A_page_speaks_socket_io_by_WebSocket_alone()
    {
        SharedChromium.AssertInstalled();
        await using var server = NodeScripts.Start("socketio-server.mjs");
        await RunAsync(server, "auto", "localhost", async (url, entry) =>
        {
            await using var browser = await SharedChromium.StartPageAsync("socketio-page.mjs", url);
            var result = (await Shell.FinishAsync(browser, TimeSpan.FromMinutes(2))).EnsureSuccess();

            Assert.Contains("handshakes 200", result.Output, StringComparison.Ordinal);
            await AssertCameOverHttp2Async(entry);
        });
    }

    [Theory]
    [MemberData(nameof(Engines))]
    public async Task Frames_of_every_kind_reach_the_ws_package_and_its_words_come_back(string engine)
    {
        await using var server = NodeScripts.Start("ws-server.mjs");
        await RunAsync(server, engine, "localhost", async (url, _) =>
        {
            await using var client = NodeScripts.Start("ws-http2-client.mjs", url);
            var result = (await Shell.FinishAsync(client, TimeSpan.FromMinutes(2))).EnsureSuccess();

            TestContext.Current.TestOutputHelper?.WriteLine(result.Output);
            await server.WaitForLineAsync(static line => line == "closed /echo 4999 our own: Grüße");
        });
    }

    private static Task<string> AssertCameOverHttp2Async(EntryProcess entry) => entry.Runner.WaitForLineAsync(static line =>
        line.Contains("\"method\":\"CONNECT\"", StringComparison.Ordinal)
            && line.Contains("\"status\":101,\"outcome\":\"upgraded\"", StringComparison.Ordinal));

    private static async Task RunAsync(ProcessRunner server, string engine, string domain, Func<string, EntryProcess, Task> test)
    {
        const string Listening = "listening ";
        var line = await server.WaitForLineAsync(static line => line.StartsWith(Listening, StringComparison.Ordinal), Limits.Start);
        using var certificate = TestCertificate.Create();
        var port = FreePort.Next();
        await using var entry = await EntryProcess.StartAsync(
            $"--Tunnel2:Engine={engine}", $"--Tunnel2:Domain={domain}", $"--Tunnel2:Public:HttpsListen=127.0.0.1:{port}",
            $"--Tunnel2:Public:Certificate={certificate.File}", "--Tunnel2:AccessLog:Mode=full");
        await using var agent = await RealTunnel.StartAgentAsync(
            entry, int.Parse(line[Listening.Length..], CultureInfo.InvariantCulture), engine, "--host-header", "rewrite");
        await test($"https://{RealTunnel.Name}.{domain}:{port}/", entry);
    }
}
