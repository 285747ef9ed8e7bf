namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>
/// Whether an uplink's peer gives signs of life: asks for one when there is reason to, and says when it has been waited for too long. Asking
/// is the heartbeat's; anyone may look.
/// </summary>
internal sealed class UplinkLiveness
{
    private readonly UplinkSettings _settings;
    private readonly UplinkWriter _writer;
    private readonly UplinkReader _reader;
    private long _probe; // when the PING that waits for an answer was queued; 0: none waits

    public UplinkLiveness(UplinkSettings settings, UplinkWriter writer, UplinkReader reader)
    {
        _settings = settings;
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
    /// Sends a PING when the peer has been silent for long, or for a moment after frames of streams were sent to it. One waits at a time;
    /// PINGs and their answers are no reason for another, so that two idle ends do not keep each other awake.
    /// </summary>
    /// <param name="now">A timestamp of the settings' time provider.</param>
    public void OnHeartbeat(long now)
    {
        var lastInbound = _reader.LastInbound;
        if (_probe != 0 && lastInbound < _probe)
        {
            return;
        }

        var silence = _settings.TimeProvider.GetElapsedTime(lastInbound, now);
        if (silence > _settings.PingAfter || (silence > _settings.ProbeAfter && _writer.LastStreamSend > lastInbound))
        {
            Volatile.Write(ref _probe, now);
            _reader.SendPing(now);
        }
        else
        {
            Volatile.Write(ref _probe, 0);
        }
    }
}
