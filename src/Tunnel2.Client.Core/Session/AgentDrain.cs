using Tunnel2.Client.Core.Console;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// The agent's way out: tells ProxyEntry to open no more streams and waits until it has ended every uplink, which it does behind its last
/// stream: only whoever opens streams knows that none is on its way. Bounded by a grace.
/// </summary>
internal sealed class AgentDrain
{
    private static readonly TimeSpan _poll = TimeSpan.FromMilliseconds(20);

    /// <summary>A server that leaves the end to us is not waited for longer than this once no stream is open.</summary>
    private static readonly TimeSpan _idleLimit = TimeSpan.FromSeconds(2);

    private readonly UplinkPool _pool;
    private readonly IAgentEvents _events;
    private readonly TimeProvider _timeProvider;
    private readonly TimeSpan _limit;

    public AgentDrain(UplinkPool pool, IAgentEvents events, TimeProvider timeProvider, TimeSpan limit)
    {
        _pool = pool;
        _events = events;
        _timeProvider = timeProvider;
        _limit = limit;
    }

    /// <summary>Begins the drain; returns at once.</summary>
    public void Begin() => _ = RunAsync();

    private async Task RunAsync()
    {
        _events.Draining();
        _pool.StopDialling();
        foreach (var uplink in _pool.Uplinks)
        {
            uplink.SendGoAwayNotice(SessionEndReason.Shutdown, "The agent is stopping.");
        }

        var started = _timeProvider.GetTimestamp();
        var lastBusy = started;
        while (_pool.Uplinks is { Count: > 0 } uplinks && _timeProvider.GetElapsedTime(started) < _limit && _timeProvider.GetElapsedTime(lastBusy) < _idleLimit)
        {
            await Task.Delay(_poll, _timeProvider).ConfigureAwait(false);
            if (uplinks.Any(static uplink => uplink.OpenStreams > 0))
            {
                lastBusy = _timeProvider.GetTimestamp();
            }
        }

        foreach (var uplink in _pool.Uplinks)
        {
            uplink.RefuseNewStreams();
            uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown, Text: "The agent stopped."));
        }
    }
}
