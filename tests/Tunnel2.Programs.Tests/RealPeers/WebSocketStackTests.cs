using System.Globalization;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>
/// WebSockets by implementations that have nothing in common, each with each: what both ends see of messages, of the codes and of the
/// reasons of closes is the same through the tunnel as without it.
/// </summary>
public sealed class WebSocketStackTests
{
    private const string Node = "ws";
    private const string Listening = "listening ";
    private const int Connections = 4;

    private static readonly string[] _clients = ["ws", "undici", "websockets", "tornado", "aiohttp"];

    [Theory]
    [InlineData(Node)]
    [InlineData("websockets")]
    [InlineData("tornado")]
    [InlineData("aiohttp")]
    public async Task Each_client_sees_and_shows_a_server_the_same_directly_and_through(string server)
    {
        await PythonScripts.AssertWebSocketsAsync();
        await using var service = Start(server, "server");
        var line = await service.WaitForLineAsync(static line => line.StartsWith(Listening, StringComparison.Ordinal), Limits.Start);
        var port = int.Parse(line.AsSpan(Listening.Length), CultureInfo.InvariantCulture);
        await using var entry = await EntryProcess.StartAsync();
        await using var agent = await RealTunnel.StartAgentAsync(entry, port);
        foreach (var client in _clients)
        {
            var direct = await VisitAsync(client, service, port, $"127.0.0.1:{port}", $"{client}-direct");
            var through = await VisitAsync(
                client, service, entry.Public.Port, $"{RealTunnel.Name}.localhost:{entry.Public.Port}", $"{client}-through");
            Assert.Equal(direct, through);
            Assert.Contains("closed 1 4001 bye", direct, StringComparison.Ordinal);
            Assert.Contains("echo binary 1048576", direct, StringComparison.Ordinal);
        }
    }

    /// <summary>What the client printed, and what the server printed of its connections, without the name of the run.</summary>
    private static async Task<string> VisitAsync(string client, ProcessRunner service, int port, string host, string run)
    {
        await using var visitor = Start(client, "client", port.ToString(CultureInfo.InvariantCulture), host, run);
        var result = (await Shell.FinishAsync(visitor)).EnsureSuccess();
        List<string> lines = [result.Output, "server:"];
        for (var number = 1; number <= Connections; number++)
        {
            var begin = $"closed {run}.{number} ";
            lines.Add(await service.WaitForLineAsync(line => line.StartsWith(begin, StringComparison.Ordinal)));
        }

        return string.Join('\n', lines).Replace($"{run}.", "", StringComparison.Ordinal);
    }

    private static ProcessRunner Start(string stack, string role, params string[] arguments) => stack is Node or "undici"
        ? NodeScripts.Start("websocket-stacks.mjs", [role, stack, .. arguments])
        : PythonScripts.Start("websocket_stacks.py", [role, stack, .. arguments]);
}
