using Tunnel2.Multiplexing.Streams;

namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>
/// Whether an uplink's peer gives signs of life: asks for one when there is reason to, and knows when it has not come for too long. The
/// heartbeat asks; any thread may read.
/// </summary>
internal sealed class UplinkLiveness
{
    /// <summary>How often the heartbeat looks at each uplink.</summary>
    public static readonly TimeSpan HeartbeatPeriod = TimeSpan.FromMilliseconds(250);

    private readonly UplinkSettings _settings;
    private readonly UplinkStreams _streams;
    private readonly UplinkWriter _writer;
    private readonly UplinkReader _reader;
    private long _probe; // when the PING that waits for an answer was queued; 0: none waits
    private long _looked; // the last send of streams after which the requests without an answer were looked at

    public UplinkLiveness(UplinkStreams streams, UplinkWriter writer, UplinkReader reader)
    {
        _settings = streams.Settings;
        _streams = streams;
        _writer = writer;
        _reader = reader;
    }

    /// <summary>Whether a send or a PING has waited for longer than the limit.</summary>
    /// <param name="now">A timestamp of the settings' time provider.</param>
    public bool IsStalled(long now)
    {
        var probe = Volatile.Read(ref _probe);
        return _writer.IsStalled(now, _settings.StallAfter)
            || (probe != 0 && _reader.LastInbound < probe && _settings.TimeProvider.GetElapsedTime(probe, now) > _settings.StallAfter);
    }

    /// <summary>
    /// Sends a PING when the peer has been silent for long, or for a moment after frames of streams were sent to it or answers to others of
    /// its streams have come. One waits at a time; PINGs and their answers are no reason for another, so that two idle ends do not keep
    /// each other awake, and a request without an answer is a reason once.
    /// </summary>
    /// <param name="now">A timestamp of the settings' time provider.</param>
    /// <returns>Whether the uplink has been idle for long: it needs little.</returns>
    public bool OnHeartbeat(long now)
    {
        var lastInbound = _reader.LastInbound;
        if (_probe != 0 && lastInbound < _probe)
        {
            return false;
        }

        var silence = _settings.TimeProvider.GetElapsedTime(lastInbound, now);
        var isIdle = silence > _settings.PingAfter;
        if (isIdle || (silence > _settings.ProbeAfter && IsAnswerDue(lastInbound)))
        {
            Volatile.Write(ref _probe, now);
            _streams.Sending.Control.AddPing(_streams.RoundTrip.Begin(now));
        }
        else
        {
            Volatile.Write(ref _probe, 0);
        }

        return isIdle;
    }

    /// <summary>
    /// Whether something was sent to which nothing has come: after all that came, or a request whose answer may be lost although another
    /// one's has come since. Streams are looked at once after each time that any was sent to, and only in a silence.
    /// </summary>
    private bool IsAnswerDue(long lastInbound)
    {
        var sent = _writer.LastStreamSend;
        var hasUnasked = false;
        if (sent != _looked && _settings.Role == UplinkRole.Entry)
        {
            // What is sent from now on is looked at after its own send.
            _looked = sent;
            hasUnasked = _streams.Table.AskAboutUnanswered();
        }

        return sent > lastInbound || hasUnasked;
    }
}
