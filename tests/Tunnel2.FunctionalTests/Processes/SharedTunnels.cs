namespace Tunnel2.FunctionalTests.Processes;

/// <summary>One tunnel for each engine, for all tests that leave it as it was.</summary>
public sealed class SharedTunnels : IAsyncLifetime
{
    private readonly Dictionary<string, RealTunnel> _tunnels = [];

    /// <summary>The engines that the core of the tests runs with.</summary>
    public static TheoryData<string> Engines => ["epoll", "portable"];

    /// <inheritdoc/>
    public ValueTask InitializeAsync() => ValueTask.CompletedTask;

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        foreach (var tunnel in _tunnels.Values)
        {
            await tunnel.DisposeAsync();
        }
    }

    /// <summary>The tunnel with an engine, started when it is first asked for. Tests of the collection run one after another.</summary>
    internal async Task<RealTunnel> GetAsync(string engine = "auto")
    {
        if (!_tunnels.TryGetValue(engine, out var tunnel))
        {
            tunnel = await RealTunnel.StartAsync(engine);
            _tunnels.Add(engine, tunnel);
        }

        return tunnel;
    }
}
