namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>
/// Whether an uplink's peer gives signs of life: asks for one when there is reason to, and says when it has been waited for too long.
/// Asking is the heartbeat's; anyone may look.
/// </summary>
internal sealed class UplinkLiveness
{
    private readonly UplinkSettings _settings;
    private readonly UplinkWriter _writer;
    private readonly UplinkReader _reader;
    private readonly RoundTripEstimator _roundTrip;
    private long _probe; // when the PING that waits for an answer was queued; 0: none waits

    public UplinkLiveness(UplinkSettings settings, UplinkWriter writer, UplinkReader reader, RoundTripEstimator roundTrip)
    {
        _settings = settings;
        _writer = writer;
        _reader = reader;
        _roundTrip = roundTrip;
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
    /// Sends a PING when the peer has been silent for long, or for a moment after frames of streams were sent to it. One waits at a time;
    /// PINGs and their answers are no reason for another, so that two idle ends do not keep each other awake.
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
        if (isIdle || (silence > _settings.ProbeAfter && _writer.LastStreamSend > lastInbound))
        {
            Volatile.Write(ref _probe, now);
            _writer.SchedulePing(_roundTrip.Begin(now));
        }
        else
        {
            Volatile.Write(ref _probe, 0);
        }

        return isIdle;
    }
}
