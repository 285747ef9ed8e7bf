using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>
/// Reads how busy this process is, from counters that exist anyway: the data plane does nothing for it. One thread at a time, except
/// <see cref="Certificates"/>.
/// </summary>
internal sealed class NodeReadings
{
    private readonly IEngine _engine;
    private readonly UplinkMetrics _uplinks;
    private readonly StalledTransfers _stalled;
    private readonly ParkingLot _parked;
    private readonly Readiness _readiness;
    private readonly TimeProvider _time;
    private readonly LoopUse _loops;
    private TimeSpan _cpuBefore;
    private long _cpuAt;

    public NodeReadings(
        IEngine engine, UplinkMetrics uplinks, StalledTransfers stalled, ParkingLot parked, Readiness readiness, TimeProvider time,
        CertificateUses certificates)
    {
        Certificates = certificates;
        (_engine, _uplinks, _stalled, _parked) = (engine, uplinks, stalled, parked);
        (_readiness, _time) = (readiness, time);
        _loops = new LoopUse(time);
        (_cpuBefore, _cpuAt) = (Environment.CpuUsage.TotalTime, time.GetTimestamp());
    }

    /// <summary>The engine's name, as setting <c>Engine</c> writes it.</summary>
    public string Engine => _engine.Mode == EngineMode.Epoll ? "epoll" : "portable";

    /// <summary>Certificates from files or made by this server, each with who sees it.</summary>
    public CertificateUses Certificates { get; }

    /// <summary>Makes a reading.</summary>
    public NodeReading Read()
    {
        var (cpu, now) = (Environment.CpuUsage.TotalTime, _time.GetTimestamp());
        var elapsed = _time.GetElapsedTime(_cpuAt, now);
        var processors = elapsed > TimeSpan.Zero ? (cpu - _cpuBefore) / elapsed : 0;
        (_cpuBefore, _cpuAt) = (cpu, now);
        return new NodeReading
        {
            At = _time.GetUtcNow().ToUnixTimeMilliseconds(),
            Uplinks = _uplinks.Read(),
            Loops = _loops.Read(_engine.Loops.Count),
            Processors = processors,
            MemoryBytes = Environment.WorkingSet,
            HeapBytes = GC.GetTotalMemory(forceFullCollection: false),
            HeldBytes = _stalled.Budget.Held,
            HeldLimit = _stalled.Budget.Limit,
            Parked = _parked.Count,
            Trouble = _readiness.IsReady ? null : _readiness.Reason,
        };
    }
}
