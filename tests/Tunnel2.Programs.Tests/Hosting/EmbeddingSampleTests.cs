using System.Net;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Hosting;

/// <summary>samples/Embedding and samples/Agent as their READMEs run them, beside a server.</summary>
public sealed class EmbeddingSampleTests
{
    private const string Host = "web.localhost";

    [Fact]
    public async Task The_app_has_a_public_url_and_a_stop_waits_for_its_answers()
    {
        var (entry, visitors, agents) = await StartEntryAsync();
        await using var server = entry;
        await using var sample = BuiltPrograms.StartEmbeddingSample("--Server", $"tcp://{agents}", "--Name", "web");
        await sample.WaitForLineAsync(static line => line.Contains("Tunnel web is open: http://", StringComparison.Ordinal), Limits.Start);

        // The host says it when the server has started, and the tunnel opens beside that.
        await sample.WaitForLineAsync(
            static line => line.EndsWith("Now listening on: http://tunnel2", StringComparison.Ordinal), Limits.Start);

        await using var visitor = await RawHttpClient.ConnectAsync(visitors);
        var (head, body) = await visitor.ExchangeAsync("/", Host);
        Assert.Equal(200, head.StatusCode);
        Assert.StartsWith($"Hello 127.0.0.1, this is http://{Host}:", body.Text, StringComparison.Ordinal);

        // The answer has begun when the stop is ordered, and its end is seconds away.
        await visitor.SendRequestAsync("/countdown", Host);
        head = await visitor.ReadHeadAsync();
        sample.Terminate();
        body = await visitor.ReadBodyAsync(head, "GET");
        Assert.Equal("3\n2\n1\n0\n", body.Text);
        Assert.Equal(0, await sample.WaitForExitAsync(Limits.Work));
        Assert.DoesNotContain(sample.Lines, static line => line.StartsWith("fail:", StringComparison.Ordinal));
    }

    [Fact]
    public async Task A_mistake_is_reported_and_nothing_starts()
    {
        await using var sample = BuiltPrograms.StartEmbeddingSample("--Name", "-web-", "--Token", "secret 1");
        Assert.Equal(2, await sample.WaitForExitAsync(Limits.Start));
        Assert.Contains("The tunnel's options have 2 mistakes.", sample.Lines);
        Assert.Contains(sample.Lines, static line => line.StartsWith("Name: '-web-' is not a name", StringComparison.Ordinal));
        Assert.DoesNotContain(sample.Lines, static line => line.Contains("secret", StringComparison.Ordinal));
        Assert.DoesNotContain(sample.Lines, static line => line.Contains("Now listening", StringComparison.Ordinal));
    }

    [Fact]
    public async Task The_agent_of_another_program_forwards_to_a_port()
    {
        var (entry, visitors, agents) = await StartEntryAsync();
        await using var server = entry;
        await using var service = RawTcpServer.StartAnswering("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nservice");
        await using var sample = BuiltPrograms.StartAgentSample(
            "--Server", $"tcp://{agents}", "--Service", $"{service.Port}", "--Name", "web");
        await sample.WaitForLineAsync(static line => line.Contains("Tunnel web is open: http://", StringComparison.Ordinal), Limits.Start);
        await using var visitor = await RawHttpClient.ConnectAsync(visitors);
        var (head, body) = await visitor.ExchangeAsync("/", Host);
        Assert.Equal((200, "service"), (head.StatusCode, body.Text));
        sample.Terminate();
        Assert.Equal(0, await sample.WaitForExitAsync(Limits.Work));
    }

    private static async Task<(ProcessRunner Entry, IPEndPoint Visitors, IPEndPoint Agents)> StartEntryAsync()
    {
        var entry = BuiltPrograms.StartEntry(
        [
            "--Tunnel2:Public:HttpListen=127.0.0.1:0", "--Tunnel2:Uplink:Listen=127.0.0.1:0", "--Tunnel2:Admin:Listen=127.0.0.1:0",
            "--Tunnel2:Live=false",
        ]);
        var visitors = await AddressAsync(entry, "Listening for visitors on http://");
        return (entry, visitors, await AddressAsync(entry, "Listening for agents on "));
    }

    /// <summary>Waits for a line that ends with an address, perhaps with a remark after it.</summary>
    private static async Task<IPEndPoint> AddressAsync(ProcessRunner program, string words)
    {
        var line = await program.WaitForLineAsync(line => line.Contains(words, StringComparison.Ordinal), Limits.Start);
        return IPEndPoint.Parse(line[(line.IndexOf(words, StringComparison.Ordinal) + words.Length)..].Split(' ')[0]);
    }
}
