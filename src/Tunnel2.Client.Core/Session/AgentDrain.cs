using Tunnel2.Client.Core.Console;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// The agent's way out: tells ProxyEntry to open no more streams, finishes those under way within a limit, and ends the session.
/// </summary>
internal sealed class AgentDrain
{
    private static readonly TimeSpan _poll = TimeSpan.FromMilliseconds(20);

    /// <summary>Streams that cross the notice are still served: this long at least the session stays.</summary>
    private static readonly TimeSpan _crossing = TimeSpan.FromMilliseconds(100);

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
        await Task.Delay(_crossing, _timeProvider).ConfigureAwait(false);
        while (_pool.Uplinks.Any(static uplink => uplink.End is null && uplink.OpenStreams > 0) && _timeProvider.GetElapsedTime(started) < _limit)
        {
            await Task.Delay(_poll, _timeProvider).ConfigureAwait(false);
        }

        foreach (var uplink in _pool.Uplinks)
        {
            uplink.RefuseNewStreams();
            uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown, Text: "The agent stopped."));
        }
    }
}
