using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Multiplexing.Session;

/// <summary>
/// ProxyEntry's side of a session: the uplinks of one agent's registration of one name. New streams go to the uplink with the fewest
/// bytes outstanding. It ends when its last uplink has. Thread-safe.
/// </summary>
internal sealed class TunnelSession
{
    private readonly Lock _gate = new();
    private readonly TaskCompletionSource<UplinkEnd> _completion = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private volatile UplinkConnection[] _uplinks = [];
    private UplinkEnd? _end;

    /// <summary>Why the session ended; completes when its last uplink has.</summary>
    public Task<UplinkEnd> Completion => _completion.Task;

    /// <summary>The uplinks as they are now.</summary>
    public IReadOnlyList<UplinkConnection> Uplinks => _uplinks;

    /// <summary>Streams open on all uplinks. May be a moment old.</summary>
    public int OpenStreams
    {
        get
        {
            var open = 0;
            foreach (var uplink in _uplinks)
            {
                open += uplink.OpenStreams;
            }

            return open;
        }
    }

    /// <summary>Adds an uplink.</summary>
    /// <returns>False when the session has ended.</returns>
    public bool TryAdd(UplinkConnection uplink)
    {
        lock (_gate)
        {
            if (_end is not null)
            {
                return false;
            }

            _uplinks = [.. _uplinks, uplink];
            return true;
        }
    }

    /// <summary>Removes an uplink that ended; the session ends with its last.</summary>
    public void Remove(UplinkConnection uplink, UplinkEnd end)
    {
        bool last;
        lock (_gate)
        {
            _uplinks = [.. _uplinks.Where(other => other != uplink)];
            last = _uplinks.Length == 0;
            if (last)
            {
                _end ??= end;
            }
        }

        if (last)
        {
            _completion.TrySetResult(_end!);
        }
    }

    /// <summary>Opens a stream on the uplink with the fewest outstanding bytes.</summary>
    /// <returns>Null when no uplink takes one.</returns>
    public TunnelStream? TryOpenStream()
    {
        var uplinks = _uplinks;
        if (uplinks.Length == 1)
        {
            return uplinks[0].TryOpenStream();
        }

        UplinkConnection? best = null;
        var fewest = long.MaxValue;
        foreach (var uplink in uplinks)
        {
            if (uplink.IsOpenForStreams && uplink.Writer.OutstandingBytes is var outstanding && outstanding < fewest)
            {
                best = uplink;
                fewest = outstanding;
            }
        }

        return best?.TryOpenStream();
    }

    /// <summary>Ends the session and every uplink of it; the first cause wins.</summary>
    public void End(SessionEndReason reason, string text)
    {
        var end = new UplinkEnd(reason, Text: text);
        UplinkConnection[] uplinks;
        lock (_gate)
        {
            _end ??= end;
            uplinks = _uplinks;
        }

        foreach (var uplink in uplinks)
        {
            uplink.TryEnd(end);
        }

        if (uplinks.Length == 0)
        {
            _completion.TrySetResult(_end!);
        }
    }
}
