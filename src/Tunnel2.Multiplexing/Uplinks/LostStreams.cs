using System.IO.Pipelines;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>
/// Fails the streams of an uplink that has ended, some at a time: the owner of a stream may answer its visitor inside that call, and
/// thousands of answers would hold up everything else on the thread.
/// </summary>
internal sealed class LostStreams
{
    private const int AtOnce = 64;

    private readonly IReadOnlyList<TunnelStream> _streams;
    private readonly SessionEndReason _reason;
    private readonly PipeScheduler _scheduler;
    private int _reported;

    private LostStreams(IReadOnlyList<TunnelStream> streams, SessionEndReason reason, PipeScheduler scheduler)
    {
        _streams = streams;
        _reason = reason;
        _scheduler = scheduler;
    }

    /// <summary>Fails the first of them at once, the others by way of the scheduler.</summary>
    public static void Report(IReadOnlyList<TunnelStream> streams, SessionEndReason reason, PipeScheduler scheduler) =>
        new LostStreams(streams, reason, scheduler).ReportSome();

    private void ReportSome()
    {
        for (var last = Math.Min(_streams.Count, _reported + AtOnce); _reported < last;)
        {
            _streams[_reported++].OnUplinkLost(_reason);
        }

        if (_reported < _streams.Count)
        {
            _scheduler.Schedule(static self => ((LostStreams)self!).ReportSome(), this);
        }
    }
}
