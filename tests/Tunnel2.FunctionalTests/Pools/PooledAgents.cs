using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Pools;

/// <summary>A server, and agents that share the name <c>web</c> there, each with a service of its own and a link that can be cut.</summary>
internal sealed class PooledAgents : IAsyncDisposable
{
    private PooledAgents(EntryFixture entry) => Entry = entry;

    public EntryFixture Entry { get; }

    public List<NamedService> Services { get; } = [];

    public List<CuttingProxy> Links { get; } = [];

    public List<AgentFixture> Agents { get; } = [];

    /// <summary>What the services answer.</summary>
    public IReadOnlyList<string> Names =>
        [.. Enumerable.Range(0, Services.Count).Select(static number => ((char)('a' + number)).ToString())];

    public static async Task<PooledAgents> StartAsync(int count, string[] settings, Func<AgentOptions, AgentOptions>? adjust = null)
    {
        var pool = new PooledAgents(await EntryFixture.StartAsync(null, settings));
        for (var i = 0; i < count; i++)
        {
            pool.Services.Add(new NamedService(((char)('a' + i)).ToString()));
            pool.Links.Add(CuttingProxy.Start(pool.Entry.Uplink));
            var options = Options(pool.Links[i].Port, pool.Services[i].Port);
            pool.Agents.Add(await AgentFixture.StartReadyAsync(adjust?.Invoke(options) ?? options));
        }

        return pool;
    }

    public static AgentOptions Options(int entryPort, int servicePort) => AgentFixture.Options(entryPort, servicePort) with { Pool = true };

    public Task<RawHttpClient> ConnectAsync() => RawHttpClient.ConnectAsync(Entry.Http);

    /// <summary>One request on a connection of its own, which has to succeed.</summary>
    /// <returns>The name of the service that answered.</returns>
    public async Task<string> AskAsync(string method = "GET")
    {
        await using var visitor = await ConnectAsync();
        var (head, body) = await visitor.ExchangeAsync("/", TunnelFixture.Host, method);
        Assert.Equal((200, null), (head.StatusCode, head["Tunnel2-Error"]));
        return body.Text();
    }

    /// <summary>Waits until the server knows that so many services are healthy.</summary>
    public Task UntilHealthyAsync(int count) => Entry.UntilAsync(
        () => Entry.Directory.Snapshot().Count(static session => session.Member!.IsHealthy) == count,
        $"{count} services are healthy",
        TimeSpan.FromSeconds(60));

    public async ValueTask DisposeAsync()
    {
        foreach (var service in Services)
        {
            service.MayAnswer.Set();
        }

        foreach (var agent in Agents)
        {
            await agent.DisposeAsync();
        }

        foreach (var link in Links)
        {
            await link.DisposeAsync();
        }

        foreach (var service in Services)
        {
            await service.DisposeAsync();
        }

        await Entry.DisposeAsync();
    }
}
