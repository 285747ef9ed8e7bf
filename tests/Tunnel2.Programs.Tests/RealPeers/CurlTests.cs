using System.Security.Cryptography;
using System.Text.Json;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>What people do with curl.</summary>
public sealed class CurlTests(SharedTunnels tunnels)
{
    [Fact]
    public async Task An_interrupted_download_is_resumed()
    {
        const int Length = 20_000_000;
        var tunnel = await tunnels.GetAsync();
        using var folder = new TemporaryFolder();
        var file = folder["download"];

        await using (var first = ProcessRunner.Start("curl", ["-sS", "-o", file, "--limit-rate", "1M", $"{tunnel.Url}/bytes/{Length}"]))
        {
            await WaitSignal.UntilAsync(() => new FileInfo(file) is { Exists: true, Length: > 0 }, "the first bytes are in the file");
            first.Terminate();
            Assert.NotEqual(0, await first.WaitForExitAsync());
        }

        var interruptedAt = new FileInfo(file).Length;
        Assert.InRange(interruptedAt, 1, Length - 1);

        var second = await Shell.CurlAsync("-C", "-", "-o", file, "-w", "%{http_code} %{size_download}", $"{tunnel.Url}/bytes/{Length}");
        Assert.Equal($"206 {Length - interruptedAt}", second.EnsureSuccess().Output);
        Assert.Equal(PatternBytes.Sha256Hex(Length), await HashFileAsync(file));
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task The_parts_of_a_form_arrive_unchanged(string engine)
    {
        var tunnel = await tunnels.GetAsync(engine);
        using var folder = new TemporaryFolder();
        var large = PatternBytes.Window(7, 1_000_000);
        await File.WriteAllBytesAsync(folder["large.bin"], large);
        await File.WriteAllTextAsync(folder["käse & \"brot\".txt"], "small\r\n--\r\n");

        var result = await Shell.CurlAsync(
            "-F", "text=Grüße; from=here", "-F", $"large=@{folder["large.bin"]}",
            "-F",
            $"small=@\"{folder["käse & \"brot\".txt"].Replace("\"", "\\\"", StringComparison.Ordinal)}\";type=text/plain",
            $"{tunnel.Url}/upload");

        var direct = await Shell.CurlAsync(
            "-F", "text=Grüße; from=here", "-F", $"large=@{folder["large.bin"]}",
            "-F",
            $"small=@\"{folder["käse & \"brot\".txt"].Replace("\"", "\\\"", StringComparison.Ordinal)}\";type=text/plain",
            $"{tunnel.BackendAddress}upload");
        Assert.Equal(direct.EnsureSuccess().Output, result.EnsureSuccess().Output);
        var parts = JsonDocument.Parse(result.Output).RootElement.EnumerateArray().ToList();
        Assert.Equal(3, parts.Count);
        Assert.Equal(Convert.ToHexStringLower(SHA256.HashData(large.Span)), parts[1].GetProperty("sha256").GetString());
        Assert.Equal(11, parts[2].GetProperty("size").GetInt64());
    }

    [Fact]
    public async Task A_form_that_waits_for_100_Continue_is_sent_at_once()
    {
        var tunnel = await tunnels.GetAsync();
        using var folder = new TemporaryFolder();
        await File.WriteAllBytesAsync(folder["file"], PatternBytes.Window(0, 100_000).ToArray());

        // Without the 100, curl would wait for as long as the first flag says.
        var result = await Shell.CurlAsync(
            "--expect100-timeout", "30", "--max-time", "10", "-H", "Expect: 100-continue", "-T", folder["file"],
            $"{tunnel.Url}/sink?hash=1");

        Assert.Contains(PatternBytes.Sha256Hex(100_000), result.EnsureSuccess().Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_upload_that_the_backend_refuses_is_answered_before_it_is_sent()
    {
        var tunnel = await tunnels.GetAsync();
        var result = await Shell.RunBashAsync(
            "head -c 50000000 /dev/zero 2>/dev/null | curl -sS -m 10 -H 'Expect: 100-continue' --expect100-timeout 30 -o /dev/null -w "
                + "'%{http_code} %{size_upload}' -T - $1",
            $"{tunnel.Url}/expect?reject=1");
        Assert.StartsWith("413 0", result.Output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("/bytes/100000", 100_000)]
    [InlineData("/stream/10/1000/1", 10_000)]
    public async Task A_visitor_with_HTTP_1_0_gets_the_whole_body(string path, int length)
    {
        var tunnel = await tunnels.GetAsync();
        using var folder = new TemporaryFolder();

        var result = await Shell.CurlAsync("--http1.0", "-D", folder["head"], "-o", folder["body"], tunnel.Url + path);

        result.EnsureSuccess();
        Assert.Equal(PatternBytes.Sha256Hex(length), await HashFileAsync(folder["body"]));
        Assert.DoesNotContain("chunked", await File.ReadAllTextAsync(folder["head"]), StringComparison.OrdinalIgnoreCase);
    }

    [Fact]
    public async Task HEAD_gives_the_length_and_no_body_and_the_connection_continues()
    {
        var tunnel = await tunnels.GetAsync();

        var result = await Shell.CurlAsync(
            "-I", $"{tunnel.Url}/bytes/12345", "--next", "-sS", "-w", " %{num_connects}", $"{tunnel.Url}/hash/3");

        Assert.Contains("Content-Length: 12345", result.EnsureSuccess().Output, StringComparison.OrdinalIgnoreCase);
        Assert.EndsWith($"{PatternBytes.Sha256Hex(3)} 0", result.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_stream_without_end_is_seen_while_it_continues()
    {
        var tunnel = await tunnels.GetAsync();
        await using var curl = ProcessRunner.Start("curl", ["-sSN", $"{tunnel.Url}/sse?count=0&interval=50"]);

        await curl.WaitForLineAsync(static line => line == "id: 5");

        Assert.False(curl.HasExited);
    }

    private static async Task<string> HashFileAsync(string path)
    {
        await using var file = File.OpenRead(path);
        return Convert.ToHexStringLower(await SHA256.HashDataAsync(file));
    }
}
