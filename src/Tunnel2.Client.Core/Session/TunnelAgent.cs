using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Client.Core.Reconnect;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Core.Session;

/// <summary>Runs one agent: holds a session with the server, again and again, and serves its streams from the backend.</summary>
internal sealed class TunnelAgent : IAgentRunner
{
    private readonly IEngine _engine;
    private readonly TimeProvider _timeProvider;

    public TunnelAgent(IEngine engine, TimeProvider timeProvider)
    {
        _engine = engine;
        _timeProvider = timeProvider;
    }

    /// <inheritdoc/>
    public async Task<int> RunAsync(AgentOptions options, IAgentEvents events, CancellationToken stop)
    {
        using var heartbeat = new UplinkHeartbeat(_timeProvider);
        using var exchanges = new ExchangeContext(options, events, _timeProvider, _engine.Loop);
        var session = new AgentSession(options, events, exchanges, heartbeat, _engine, _timeProvider);
        var loop = new ReconnectLoop(options, session.RunOnceAsync, events, new FullJitterBackoff(_timeProvider, Random.Shared), _timeProvider);
        var exitCode = await loop.RunAsync(stop).ConfigureAwait(false);
        await session.WhenRetiredAsync().ConfigureAwait(false);
        return exitCode;
    }
}
