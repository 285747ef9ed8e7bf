using System.Collections.Concurrent;
using Tunnel2.Programs.Tests.Processes;

[assembly: AssemblyFixture(typeof(SharedTunnels))]

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>One tunnel for each engine, for all tests that leave it as it was. Thread-safe.</summary>
public sealed class SharedTunnels : IAsyncLifetime
{
    private readonly ConcurrentDictionary<string, Lazy<Task<RealTunnel>>> _tunnels = [];

    /// <summary>The engines that the core of the tests runs with.</summary>
    public static TheoryData<string> Engines => ["epoll", "portable"];

    /// <inheritdoc/>
    public ValueTask InitializeAsync() => ValueTask.CompletedTask;

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        foreach (var tunnel in _tunnels.Values)
        {
            await (await tunnel.Value).DisposeAsync();
        }
    }

    /// <summary>The tunnel with an engine, started when it is first asked for.</summary>
    internal Task<RealTunnel> GetAsync(string engine = "auto") =>
        _tunnels.GetOrAdd(engine, static engine => new Lazy<Task<RealTunnel>>(() => RealTunnel.StartAsync(engine))).Value;
}
