using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestBackend;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks.Ways;

/// <summary>An entry and a backend, to which a test's agents connect in their own ways.</summary>
internal sealed class WaysTunnel : IAsyncDisposable
{
    private WaysTunnel(EntryFixture entry, TestBackendServer backend)
    {
        Entry = entry;
        Backend = backend;
    }

    public EntryFixture Entry { get; }

    public TestBackendServer Backend { get; }

    /// <summary>Options of an agent that goes over WebSocket to the public port.</summary>
    public AgentOptions WebSocket => AgentFixture.Options(Entry.Uplink.Port, Backend.Port) with
    {
        Uplink = UplinkWay.WebSocket,
        PublicPort = Entry.Http.Port,
    };

    /// <summary>Options of an agent that goes to the uplink's own port.</summary>
    public AgentOptions Direct => AgentFixture.Options(Entry.Uplink.Port, Backend.Port);

    public static async Task<WaysTunnel> StartAsync(params string[] settings) =>
        new(await EntryFixture.StartAsync(settings: settings), await TestBackendServer.StartAsync(new TestBackendOptions()));

    /// <summary>Sends bodies both ways.</summary>
    public async Task ExchangeAsync()
    {
        await using var visitor = await RawHttpClient.ConnectAsync(Entry.Http);
        foreach (var length in new[] { 0, 1, 16_384, 100_000, 3_000_000 })
        {
            var (head, body) = await visitor.ExchangeAsync($"/bytes/{length}", TunnelFixture.Host);
            Assert.Equal((200, length), (head.StatusCode, body.Bytes.Length));
            PatternBytes.Verify(body.Bytes, 0);
            await visitor.WriteAsync($"POST /sink?hash=1 HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: {length}\r\n\r\n");
            await visitor.WriteAsync(body.Bytes);
            var answer = await visitor.ReadHeadAsync();
            Assert.Contains(PatternBytes.Sha256Hex(length), (await visitor.ReadBodyAsync(answer)).Text(), StringComparison.Ordinal);
        }
    }

    /// <summary>Asks for the status of a request for an uplink.</summary>
    public async Task<RawHttpHead> AskAsync(string fields, string host = "localhost", string path = "/_tunnel2/uplink")
    {
        await using var visitor = await RawHttpClient.ConnectAsync(Entry.Http);
        await visitor.SendRequestAsync(path, host, "GET", fields);
        return await visitor.ReadHeadAsync();
    }

    public async ValueTask DisposeAsync()
    {
        await Entry.DisposeAsync();
        await Backend.DisposeAsync();
    }
}
