using System.IO.Pipelines;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>
/// Tells the streams of an uplink that has ended, some at a time: those that wait for one may answer its visitor right there, and thousands
/// of answers would hold up everybody else on the thread.
/// </summary>
internal sealed class LostStreams
{
    private const int AtOnce = 64;

    private readonly IReadOnlyList<TunnelStream> _streams;
    private readonly SessionEndReason _reason;
    private readonly PipeScheduler _scheduler;
    private int _told;

    private LostStreams(IReadOnlyList<TunnelStream> streams, SessionEndReason reason, PipeScheduler scheduler)
    {
        _streams = streams;
        _reason = reason;
        _scheduler = scheduler;
    }

    /// <summary>Tells the first at once, the rest by way of the scheduler.</summary>
    public static void Tell(IReadOnlyList<TunnelStream> streams, SessionEndReason reason, PipeScheduler scheduler) =>
        new LostStreams(streams, reason, scheduler).TellSome();

    private void TellSome()
    {
        for (var last = Math.Min(_streams.Count, _told + AtOnce); _told < last;)
        {
            _streams[_told++].OnUplinkLost(_reason);
        }

        if (_told < _streams.Count)
        {
            _scheduler.Schedule(static self => ((LostStreams)self!).TellSome(), this);
        }
    }
}
