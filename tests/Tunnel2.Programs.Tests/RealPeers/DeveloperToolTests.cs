using System.Globalization;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>What developers put behind a tunnel: a git server, a development server with hot reload, a socket.io server.</summary>
public sealed class DeveloperToolTests
{
    [Fact]
    public async Task Git_clones_and_pushes_over_smart_HTTP()
    {
        var git = await Shell.RunBashAsync("test -x \"$(git --exec-path)/git-http-backend\"");
        Assert.SkipUnless(git.ExitCode == 0, "Needs git with git http-backend (Debian package git).");
        using var folder = new TemporaryFolder();
        var made = await Shell.RunBashAsync(
            "git init -q --bare \"$1/demo.git\" && git -C \"$1/demo.git\" config http.receivepack true", folder["."]);
        made.EnsureSuccess();
        await using var server = NodeScripts.Start("git-server.mjs", folder["."]);
        var port = await ReadPortAsync(server);
        await using var entry = await EntryProcess.StartAsync();
        await using var agent = await RealTunnel.StartAgentAsync(entry, port);

        // 4 MB that do not compress: the push is larger than git's buffer, so that it goes in chunks.
        var result = await Shell.RunBashAsync(
            """
            set -eu
            cd "$1"
            export HOME="$1" GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0
            git config --global user.email tester@example.com
            git config --global user.name Tester
            git config --global http.curloptResolve "web.localhost:$2:127.0.0.1"
            git clone -q "http://web.localhost:$2/demo.git" first
            cd first
            head -c 4000000 /dev/urandom > random.bin
            for i in 1 2 3 4 5 6 7 8 9 10; do echo "line $i" >> text.txt; git add .; git commit -qm "commit $i"; done
            git push -q origin HEAD:main
            git checkout -q -b topic
            echo more >> text.txt
            git commit -qam more
            git push -q origin topic
            cd ..
            git clone -q -b main "http://web.localhost:$2/demo.git" second
            git -C second fetch -q origin topic
            git -C second fsck --strict
            cmp first/random.bin second/random.bin
            test "$(git -C second rev-list --count main)" = 10
            test "$(git -C second rev-parse FETCH_HEAD)" = "$(git -C first rev-parse topic)"
            """,
            folder["."],
            $"{entry.Public.Port}");

        result.EnsureSuccess();
        Assert.Contains("chunked request", server.Lines);
    }

    [Fact]
    public async Task An_edit_reaches_a_page_of_a_vite_server_on_a_domain_of_its_own_without_a_reload()
    {
        SharedChromium.AssertInstalled();
        using var folder = new TemporaryFolder();
        await ViteProject.WriteAsync(folder);
        await using var vite = NodeScripts.Start("vite-server.mjs", folder["."], $"{FreePort.Next()}");
        var port = await ReadPortAsync(vite);
        await using var entry = await EntryProcess.StartAsync("--Tunnel2:Domain=tunnel.example");
        await using var agent = await RealTunnel.StartAgentAsync(entry, port, "auto", "--host-header", "rewrite");

        await using var browser = await SharedChromium.StartPageAsync(
            "vite-page.mjs", $"http://{RealTunnel.Name}.tunnel.example:{entry.Public.Port}/", folder["message.js"]);
        var result = (await Shell.FinishAsync(browser, TimeSpan.FromMinutes(2))).EnsureSuccess();

        Assert.Contains("updated without a reload", result.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Socket_io_speaks_with_itself_by_polling_and_by_WebSocket()
    {
        await using var server = NodeScripts.Start("socketio-server.mjs");
        var port = await ReadPortAsync(server);
        await using var entry = await EntryProcess.StartAsync();
        await using var agent = await RealTunnel.StartAgentAsync(entry, port);

        await using var client = NodeScripts.Start("socketio-client.mjs", $"http://{RealTunnel.Name}.localhost:{entry.Public.Port}");

        (await Shell.FinishAsync(client)).EnsureSuccess();
    }

    private static async Task<int> ReadPortAsync(ProcessRunner server)
    {
        const string Listening = "listening ";
        var line = await server.WaitForLineAsync(static line => line.StartsWith(Listening, StringComparison.Ordinal), Limits.Start);
        return int.Parse(line[Listening.Length..], CultureInfo.InvariantCulture);
    }
}
