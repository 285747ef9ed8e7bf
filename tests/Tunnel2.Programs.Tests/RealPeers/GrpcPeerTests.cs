using System.Globalization;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>gRPC's own clients and servers for node and for Python, each with each other through ProxyEntry and agent.</summary>
public sealed class GrpcPeerTests
{
    private const string Node = "node";
    private const string Python = "python";

    /// <summary>Messages of a stream: more on request, because a hundred thousand take half a minute with some of these.</summary>
    private static readonly string _messages = Environment.GetEnvironmentVariable("TUNNEL2_TEST_GRPC_MESSAGES") ?? "3000";

    [Theory]
    [InlineData(Node, Node, "epoll")]
    [InlineData(Node, Python, "epoll")]
    [InlineData(Python, Node, "epoll")]
    [InlineData(Python, Python, "epoll")]
    [InlineData(Node, Python, "portable")]
    [InlineData(Python, Node, "portable")]
    public async Task Calls_of_all_kinds_pass(string client, string server, string engine)
    {
        const string Listening = "listening ";
        await using var service = await StartAsync(server, "server");
        var line = await service.WaitForLineAsync(static line => line.StartsWith(Listening, StringComparison.Ordinal), Limits.Start);
        await using var entry = await EntryProcess.StartAsync($"--Tunnel2:Engine={engine}");
        await using var agent = await RealTunnel.StartAgentAsync(
            entry, int.Parse(line.AsSpan(Listening.Length), CultureInfo.InvariantCulture), engine);

        await using var visitor = await StartAsync(
            client, "client", $"ipv4:127.0.0.1:{entry.Public.Port}", $"{RealTunnel.Name}.localhost:{entry.Public.Port}", _messages);
        var result = (await Shell.FinishAsync(visitor, TimeSpan.FromMinutes(5))).EnsureSuccess();

        TestContext.Current.TestOutputHelper?.WriteLine(result.Output);
        Assert.Contains($"ok {_messages} messages both ways", result.Output, StringComparison.Ordinal);
        Assert.Contains("ok a hundred calls at once", result.Output, StringComparison.Ordinal);
    }

    private static async Task<ProcessRunner> StartAsync(string language, string role, params string[] arguments)
    {
        if (language == Node)
        {
            return NodeScripts.Start($"grpc-{role}.mjs", arguments);
        }

        await PythonScripts.AssertGrpcAsync();
        return PythonScripts.Start($"grpc_{role}.py", arguments);
    }
}
