using System.IO.Pipelines;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// The connections to one other node: none until the first request for it, then one, and more while many requests are under way or one
/// connection stalls, or where all that are open are on the wrong event loop of that node. Only this side opens streams on them.
/// Thread-safe.
/// </summary>
internal sealed class NodeLink
{
    /// <summary>The maximum number of connections to one node.</summary>
    public const int MaxConnections = 4;

    /// <summary>With more streams than this on each of them, another one is opened.</summary>
    private const int ManyStreams = 64;

    /// <summary>After a failure no connection is tried for this long: requests fail at once with the same reason.</summary>
    private static readonly TimeSpan _pause = TimeSpan.FromSeconds(1);

    /// <summary>How long the log does not say the same of a node that stays away.</summary>
    private static readonly TimeSpan _quiet = TimeSpan.FromMinutes(1);

    private readonly NodeLocation _location;
    private readonly NodeDialer _dialer;
    private readonly UplinkHeartbeat _heartbeat;
    private readonly NodeLinkMetrics _metrics;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;
    private readonly Lock _gate = new();
    private volatile TunnelSession? _session;
    private Task<string>? _dialling;
    private string _problem = "";
    private string _said = "";
    private long _saidAt;
    private long _failedAt;
    private long _usedAt;
    private bool _isStopped;
    private bool _isForgotten;

    public NodeLink(
        NodeLocation location, NodeDialer dialer, UplinkHeartbeat heartbeat, NodeLinkMetrics metrics, TimeProvider timeProvider,
        ILogger logger)
    {
        _location = location;
        _dialer = dialer;
        _heartbeat = heartbeat;
        _metrics = metrics;
        _timeProvider = timeProvider;
        _logger = logger;
        _usedAt = timeProvider.GetTimestamp();
    }

    /// <summary>The connections that are open now.</summary>
    public IReadOnlyList<UplinkConnection> Uplinks => _session?.Uplinks ?? [];

    /// <summary>How many requests are under way, and whether a connection is open.</summary>
    public (int Streams, bool IsOpen) Look() => _session is { HasEnded: false } session
        ? (session.OpenStreams, session.Uplinks.Count > 0)
        : (0, false);

    /// <summary>Begins to open a connection, unless one has just failed. Does not wait.</summary>
    /// <returns>False: one has just failed.</returns>
    public bool Prepare() => DialAsync() is not { IsCompletedSuccessfully: true, Result.Length: > 0 };

    /// <summary>Opens a stream, if there is a connection for it.</summary>
    /// <param name="except">An uplink that has just refused or lost the request, or null.</param>
    /// <param name="home">The event loop that the caller lives on, or null.</param>
    /// <param name="isSettled">As for <see cref="TunnelSession.TryOpenStream"/>.</param>
    /// <param name="crossing">The connections on which the name's streams cross between loops at the node; null: none is known.</param>
    public TunnelStream? TryOpenStream(UplinkStreams? except, PipeScheduler? home, bool isSettled, CrossingLinks? crossing)
    {
        if (_session is not { } session)
        {
            return null;
        }

        Volatile.Write(ref _usedAt, _timeProvider.GetTimestamp());
        var stream = session.TryOpenStream(except, home, isSettled, AvoidedSlots(session, crossing, out var allCross));
        if ((allCross || session.OpenStreams > ManyStreams * session.Uplinks.Count) && session.Uplinks.Count is > 0 and < MaxConnections)
        {
            _ = DialAsync();
        }

        return stream;
    }

    /// <summary>Opens a stream, and a connection for it where there is none.</summary>
    /// <returns>The stream, or why there is none.</returns>
    public async ValueTask<(TunnelStream? Stream, string Problem)> OpenStreamAsync(
        UplinkStreams? except, PipeScheduler? home, bool isSettled, CrossingLinks? crossing, CancellationToken cancellationToken)
    {
        if (TryOpenStream(except, home, isSettled, crossing) is { } present)
        {
            return (present, "");
        }

        var problem = await DialAsync().WaitAsync(cancellationToken).ConfigureAwait(false);
        return TryOpenStream(except: null, home, isSettled, crossing) is { } stream
            ? (stream, "")
            : (null, problem.Length > 0 ? problem : "it takes no more requests");
    }

    /// <summary>Whether a connection is open, or can be opened. One that is silent counts until its heartbeat ends it.</summary>
    public async Task<bool> ReachesAsync() =>
        _session is { HasEnded: false, Uplinks.Count: > 0 } || await DialAsync().ConfigureAwait(false) is "";

    /// <summary>Closes the connections when no request has used them for a while.</summary>
    public void CloseIdle(TimeSpan limit)
    {
        if (_session is { OpenStreams: 0 } session && _timeProvider.GetElapsedTime(Volatile.Read(ref _usedAt)) > limit)
        {
            foreach (var uplink in session.Uplinks)
            {
                uplink.Drain(SessionEndReason.Shutdown, "No request needs the link.");
            }
        }
    }

    /// <summary>Begins to use the link.</summary>
    /// <returns>False: it was given up.</returns>
    public bool TryUse()
    {
        // No lock for each request: a link with connections is not given up.
        if (_session is { HasEnded: false })
        {
            return true;
        }

        lock (_gate)
        {
            Volatile.Write(ref _usedAt, _timeProvider.GetTimestamp());
            return !_isForgotten;
        }
    }

    /// <summary>Gives the link up, where it has no connection and was not used for a while.</summary>
    /// <returns>Whether it was given up: no connection is opened any more.</returns>
    public bool TryForget(TimeSpan limit)
    {
        lock (_gate)
        {
            _isForgotten |= _dialling is null && _session is not { HasEnded: false }
                && _timeProvider.GetElapsedTime(Volatile.Read(ref _usedAt)) > limit;
            return _isForgotten;
        }
    }

    /// <summary>Ends all connections; no further one is opened.</summary>
    public void Stop()
    {
        lock (_gate)
        {
            _isStopped = true;
        }

        _session?.End(SessionEndReason.Shutdown, "The node stops.");
    }

    /// <summary>
    /// The connections to avoid. Where streams cross on all of them, what is known of them is forgotten: the next ones find out again, also
    /// on the connection that is opened then.
    /// </summary>
    private static int AvoidedSlots(TunnelSession session, CrossingLinks? crossing, out bool allCross)
    {
        allCross = false;
        var avoided = crossing?.Slots ?? 0;
        if (avoided == 0)
        {
            return 0;
        }

        // By number: on a request's way an enumerator would be an object.
        var uplinks = session.Uplinks;
        for (var i = 0; i < uplinks.Count; i++)
        {
            if ((avoided >> uplinks[i].Slot & 1) == 0)
            {
                return avoided;
            }
        }

        allCross = true;
        crossing!.Clear();
        return 0;
    }

    /// <summary>Opens a further connection; one attempt at a time, which all that need one share.</summary>
    /// <returns>Why there is none; empty when there is one.</returns>
    private Task<string> DialAsync()
    {
        lock (_gate)
        {
            if (_isStopped)
            {
                return Task.FromResult("this node stops");
            }

            if (_isForgotten)
            {
                return Task.FromResult("it was given up just now");
            }

            if (_dialling is { } running)
            {
                return running;
            }

            if (_problem.Length > 0 && _timeProvider.GetElapsedTime(_failedAt) < _pause)
            {
                return Task.FromResult(_problem);
            }

            var session = _session;
            if (session is { HasEnded: false } && session.Uplinks.Count >= MaxConnections)
            {
                return Task.FromResult("");
            }

            var dialling = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
            _dialling = dialling.Task;
            _ = ConnectAsync(dialling);
            return dialling.Task;
        }
    }

    private async Task ConnectAsync(TaskCompletionSource<string> dialling)
    {
        // The caller holds the gate, and may be a thread of an event loop.
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        var problem = "";
        try
        {
            (var uplink, var rest, problem) = await _dialer.DialAsync(_location).ConfigureAwait(false);
            if (uplink is not null && !TryAdd(uplink, rest))
            {
                problem = "this node stops";
            }
        }
        catch (Exception exception)
        {
            NodeLinkLog.LinkFault(_logger, exception);
            problem = "a fault of this node";
        }

        if (problem.Length > 0)
        {
            _metrics.Failed(isOut: true);
            if (problem != _said || _timeProvider.GetElapsedTime(_saidAt) >= _quiet)
            {
                _saidAt = _timeProvider.GetTimestamp();
                NodeLinkLog.LinkFailed(_logger, _location.NodeId, _location.LinkAddress, problem);
            }
        }

        _said = problem;
        lock (_gate)
        {
            _dialling = null;
            _problem = problem;
            _failedAt = _timeProvider.GetTimestamp();
        }

        dialling.SetResult(problem);
    }

    private bool TryAdd(UplinkConnection uplink, ReadOnlyMemory<byte> rest)
    {
        TunnelSession session;
        bool isAdded;
        lock (_gate)
        {
            session = _session is { HasEnded: false } present ? present : new TunnelSession(MaxConnections);
            isAdded = !_isStopped && session.TryAdd(uplink);
            if (isAdded)
            {
                _session = session;
            }
        }

        if (!isAdded)
        {
            uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
        }

        _ = RunAsync(uplink, session, rest, isAdded);
        return isAdded;
    }

    private async Task RunAsync(UplinkConnection uplink, TunnelSession session, ReadOnlyMemory<byte> rest, bool isAdded)
    {
        if (!isAdded)
        {
            await uplink.RunAsync(rest).ConfigureAwait(false);
            return;
        }

        uplink.StallObserver = OnStalled;
        _heartbeat.Add(uplink);
        _metrics.Opened(isOut: true);
        NodeLinkLog.LinkOpened(_logger, _location.NodeId, uplink.RemoteName);
        var reason = SessionEndReason.Internal.ToString();
        try
        {
            reason = (await uplink.RunAsync(rest).ConfigureAwait(false)).ToString();
        }
        catch (Exception exception)
        {
            NodeLinkLog.LinkFault(_logger, exception);
        }
        finally
        {
            _heartbeat.Remove(uplink);
            uplink.TryEnd(new UplinkEnd(SessionEndReason.Internal));
            session.Remove(uplink, uplink.End!);
            _metrics.Closed(isOut: true);
            NodeLinkLog.LinkClosed(_logger, _location.NodeId, reason);
        }
    }

    /// <summary>Streams that have not begun are taken back for a connection that works, or for a new one.</summary>
    private void OnStalled(UplinkConnection uplink)
    {
        if (_session is { } session)
        {
            session.OnStalled(uplink);
            if (session.Uplinks.Count < MaxConnections)
            {
                _ = DialAsync();
            }
        }
    }
}
