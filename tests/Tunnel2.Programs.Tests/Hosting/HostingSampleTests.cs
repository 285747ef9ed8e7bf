using System.Net;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Hosting;

/// <summary>samples/Hosting as its README runs it: a web app and the tunnel server in one process, and an agent beside it.</summary>
public sealed class HostingSampleTests
{
    private const string Host = "web.localhost";

    private static readonly string[] _anyPorts =
    [
        "--urls", "http://127.0.0.1:0", "--Tunnel2:Public:HttpListen=127.0.0.1:0", "--Tunnel2:Uplink:Listen=127.0.0.1:0",
        "--Tunnel2:Admin:Listen=127.0.0.1:0",
    ];

    [Fact]
    public async Task It_serves_visitors_through_an_agent_and_a_stop_waits_for_their_answers()
    {
        await using var sample = BuiltPrograms.StartHostingSample(_anyPorts);
        var app = await AddressAsync(sample, "Now listening on: http://");
        var visitors = await AddressAsync(sample, "Listening for visitors on http://");
        var agents = await AddressAsync(sample, "Listening for agents on ");
        await using var agent = BuiltPrograms.StartAgent(["http", $"{app.Port}", "--name", "web", "--server", agents.ToString()]);
        await agent.WaitForLineAsync(static line => line.StartsWith("Forwarding ", StringComparison.Ordinal), Limits.Start);

        await using var visitor = await RawHttpClient.ConnectAsync(visitors);
        var (head, body) = await visitor.ExchangeAsync("/", Host);
        Assert.Equal(200, head.StatusCode);
        Assert.Equal(
            $"Visitors call {visitors}, agents connect to {agents}.\n", System.Text.Encoding.ASCII.GetString(body.Bytes));

        // The answer has begun when the stop is ordered, and its end is seconds away.
        await visitor.SendRequestAsync("/countdown", Host);
        head = await visitor.ReadHeadAsync();
        sample.Terminate();
        await sample.WaitForLineAsync(static line => line.Contains("Draining", StringComparison.Ordinal), Limits.Work);
        body = await visitor.ReadBodyAsync(head, "GET");
        Assert.Equal("3\n2\n1\n0\n", System.Text.Encoding.ASCII.GetString(body.Bytes));
        await visitor.WaitForEndAsync();
        Assert.Equal(0, await sample.WaitForExitAsync(Limits.Work));
        Assert.DoesNotContain(sample.Lines, static line => line.StartsWith("fail:", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Wrong_settings_are_reported_all_at_once_as_the_program_reports_them()
    {
        string[] wrong = [.. _anyPorts, "--Tunnel2:Domian=x", "--Tunnel2:Timeouts:Park=soon", "--Tunnel2:Uplink:Listen=nowhere"];
        await using var sample = BuiltPrograms.StartHostingSample(wrong);
        Assert.Equal(2, await sample.WaitForExitAsync(Limits.Start));
        await using var program = BuiltPrograms.StartEntry(wrong[2..]);
        Assert.Equal(2, await program.WaitForExitAsync(Limits.Start));

        Assert.Equal("tunnel2-entry cannot start: 3 settings are wrong.", program.Lines[0]);
        Assert.Equal(4, program.Lines.Count);
        Assert.Equal(program.Lines, sample.Lines.SkipWhile(line => line != program.Lines[0]).Where(program.Lines.Contains));
        Assert.DoesNotContain(sample.Lines, static line => line.Contains("Now listening", StringComparison.Ordinal));
    }

    [Fact]
    public void The_document_shows_the_sample_as_it_is() => Assert.Contains(
        $"```csharp\n{File.ReadAllText(Path.Combine(RepositoryFolder.Path, "samples/Hosting/Program.cs")).ReplaceLineEndings("\n")}```",
        File.ReadAllText(Path.Combine(RepositoryFolder.Path, "docs/hosting.md")).ReplaceLineEndings("\n"),
        StringComparison.Ordinal);

    /// <summary>Waits for a line that ends with an address, perhaps with a remark after it.</summary>
    private static async Task<IPEndPoint> AddressAsync(ProcessRunner sample, string words)
    {
        var line = await sample.WaitForLineAsync(line => line.Contains(words, StringComparison.Ordinal), Limits.Start);
        return IPEndPoint.Parse(line[(line.IndexOf(words, StringComparison.Ordinal) + words.Length)..].Split(' ')[0]);
    }
}
