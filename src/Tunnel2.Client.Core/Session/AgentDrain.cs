using Tunnel2.Client.Core.Console;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// The agent's way out: tells ProxyEntry to open no more streams and waits until it has ended the uplink, which it does behind the last
/// stream: only whoever opens streams knows that none is on its way. Bounded by a grace.
/// </summary>
internal sealed class AgentDrain
{
    private static readonly TimeSpan _poll = TimeSpan.FromMilliseconds(20);

    /// <summary>A server that leaves the end to us is not waited for longer than this once no stream is open.</summary>
    private static readonly TimeSpan _idleLimit = TimeSpan.FromSeconds(2);

    private readonly UplinkConnection _uplink;
    private readonly IAgentEvents _events;
    private readonly TimeProvider _timeProvider;
    private readonly TimeSpan _limit;

    public AgentDrain(UplinkConnection uplink, IAgentEvents events, TimeProvider timeProvider, TimeSpan limit)
    {
        _uplink = uplink;
        _events = events;
        _timeProvider = timeProvider;
        _limit = limit;
    }

    /// <summary>Begins the drain; returns at once.</summary>
    public void Begin() => _ = RunAsync();

    private async Task RunAsync()
    {
        _events.Draining();
        _uplink.SendGoAwayNotice(SessionEndReason.Shutdown, "The agent is stopping.");
        var started = _timeProvider.GetTimestamp();
        var lastBusy = started;
        while (_uplink.End is null && _timeProvider.GetElapsedTime(started) < _limit && _timeProvider.GetElapsedTime(lastBusy) < _idleLimit)
        {
            await Task.Delay(_poll, _timeProvider).ConfigureAwait(false);
            if (_uplink.OpenStreams > 0)
            {
                lastBusy = _timeProvider.GetTimestamp();
            }
        }

        _uplink.RefuseNewStreams();
        _uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown, Text: "The agent stopped."));
    }
}
