using System.Collections.Concurrent;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Multiplexing.Heartbeat;

/// <summary>
/// One timer for all uplinks of a process: four times a second it has each check whether its peer is silent, stalled or dead. Thread-safe.
/// </summary>
internal sealed class UplinkHeartbeat : IDisposable
{
    private readonly ConcurrentDictionary<UplinkConnection, byte> _uplinks = new();
    private readonly ContainedFaults _faults;
    private readonly ITimer _timer;

    /// <param name="timeProvider">The clock of the timer.</param>
    /// <param name="faults">Where faults of an uplink are counted.</param>
    public UplinkHeartbeat(TimeProvider timeProvider, ContainedFaults? faults = null)
    {
        _faults = faults ?? new ContainedFaults(timeProvider);
        var period = UplinkLiveness.HeartbeatPeriod;
        _timer = timeProvider.CreateTimer(static self => ((UplinkHeartbeat)self!).Beat(), this, period, period);
    }

    /// <summary>Uplinks watched.</summary>
    public int Count => _uplinks.Count;

    /// <summary>The uplinks watched now: all that run.</summary>
    public IReadOnlyList<UplinkConnection> Snapshot() => [.. _uplinks.Keys];

    public void Add(UplinkConnection uplink) => _uplinks.TryAdd(uplink, 0);

    public void Remove(UplinkConnection uplink) => _uplinks.TryRemove(uplink, out _);

    public void Dispose() => _timer.Dispose();

    private void Beat()
    {
        foreach (var (uplink, _) in _uplinks)
        {
            try
            {
                uplink.OnHeartbeat();
            }
            catch (Exception exception)
            {
                _faults.Add("heartbeat", exception);
                _faults.Run("heartbeat", static uplink => uplink.TryEnd(new UplinkEnd(SessionEndReason.Internal)), uplink);
            }
        }
    }
}
