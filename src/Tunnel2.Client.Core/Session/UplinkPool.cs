using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Reconnect;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Transport.WebSockets;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// The agent's side of a session: runs its uplinks, dials those that are missing while others are open, and, with <c>--uplinks auto</c>,
/// asks <see cref="UplinkGrowth"/> how many there should be. It ends when its last uplink has. Thread-safe.
/// </summary>
internal sealed class UplinkPool
{
    /// <summary>How many uplinks <c>auto</c> grows to.</summary>
    public const int MaxAutomatic = 4;

    /// <summary>
    /// How lost uplinks come back while others are open: nearly at once, because the session misses them; more and more seldom when they do
    /// not last or the server does not want them.
    /// </summary>
    private static readonly BackoffSchedule _schedule = new()
    {
        Base = TimeSpan.FromMilliseconds(100),
        StableLife = TimeSpan.FromMilliseconds(500),
    };

    private static readonly TimeSpan _period = TimeSpan.FromMilliseconds(500);

    /// <summary>How long the server may take to close an uplink that was retired and has no stream left.</summary>
    private static readonly TimeSpan _closeLimit = TimeSpan.FromSeconds(5);

    private readonly UplinkPolicy _policy;
    private readonly int _maxUplinks;
    private readonly Func<IUplinkTransport, UplinkConnection> _create;
    private readonly UplinkJoiner _joiner;
    private readonly UplinkHeartbeat _heartbeat;
    private readonly TimeProvider _timeProvider;
    private readonly Lock _gate = new();
    private readonly List<UplinkConnection> _uplinks = [];
    private readonly HashSet<UplinkConnection> _retiring = [];
    private readonly HashSet<UplinkConnection> _webSockets = [];
    private readonly TaskCompletionSource<UplinkEnd> _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private UplinkEnd? _sessionEnd;
    private TaskCompletionSource _changed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private TimeSpan? _lostAfter; // how long the uplink lived that was lost last, until KeepAsync has taken note
    private int _keptFree; // for the uplink that replaces those of a detour
    private bool _stopping;
    private bool _isOver;

    /// <summary>Makes the pool of a session.</summary>
    /// <param name="policy">How many uplinks the user wants.</param>
    /// <param name="maxUplinks">How many the server takes.</param>
    /// <param name="create">Makes an uplink of a connection after its handshake.</param>
    /// <param name="joiner">Dials further uplinks.</param>
    /// <param name="heartbeat">Watches them.</param>
    /// <param name="timeProvider">Time.</param>
    public UplinkPool(
        UplinkPolicy policy, int maxUplinks, Func<IUplinkTransport, UplinkConnection> create, UplinkJoiner joiner,
        UplinkHeartbeat heartbeat, TimeProvider timeProvider)
    {
        _policy = policy;
        _maxUplinks = maxUplinks;
        _create = create;
        _joiner = joiner;
        _heartbeat = heartbeat;
        _timeProvider = timeProvider;
    }

    /// <summary>The uplinks as they are now.</summary>
    public IReadOnlyList<UplinkConnection> Uplinks
    {
        get
        {
            lock (_gate)
            {
                return [.. _uplinks];
            }
        }
    }

    /// <summary>Those of them that are wanted: one that is being retired takes no more streams.</summary>
    public IReadOnlyList<UplinkConnection> Serving
    {
        get
        {
            lock (_gate)
            {
                return [.. _uplinks.Where(uplink => !_retiring.Contains(uplink))];
            }
        }
    }

    /// <summary>The uplinks are a detour that another one will replace: a place is kept for it. Before <see cref="RunAsync"/>.</summary>
    public void KeepPlaceFree() => _keptFree = 1;

    /// <summary>
    /// Dials one uplink at the server's own port. When it is open it serves, and all before it finish what they carry: the server opens no
    /// more streams there and ends each after its last one.
    /// </summary>
    /// <returns>Whether it is open.</returns>
    /// <exception cref="OperationCanceledException">Given up.</exception>
    public async Task<bool> TryReplaceAsync(CancellationToken over)
    {
        lock (_gate)
        {
            if (_stopping)
            {
                return false;
            }
        }

        var outcome = await _joiner.JoinAsync(isDirect: true, over).ConfigureAwait(false);
        if (outcome.Transport is not { } transport)
        {
            return false;
        }

        var added = Start(transport, outcome.Rest);
        UplinkConnection[] replaced;
        lock (_gate)
        {
            _keptFree = 0;
            replaced = [.. _uplinks.Where(uplink => uplink != added && !_retiring.Contains(uplink))];
            _retiring.UnionWith(replaced);
        }

        foreach (var uplink in replaced)
        {
            _ = RetireAsync(uplink);
        }

        return true;
    }

    /// <summary>How the uplinks are now, for a user who watches.</summary>
    public UplinkReading Read()
    {
        var (open, stalled, shortest, longest) = (0, 0, TimeSpan.MaxValue, TimeSpan.Zero);
        int webSockets;
        lock (_gate)
        {
            webSockets = _webSockets.Count(uplink => !_retiring.Contains(uplink));
        }

        foreach (var uplink in Serving)
        {
            open++;
            stalled += uplink.IsStalled(_timeProvider.GetTimestamp()) ? 1 : 0;
            if (uplink.RoundTrip.Last is var last && last > TimeSpan.Zero)
            {
                shortest = last < shortest ? last : shortest;
                longest = last > longest ? last : longest;
            }
        }

        return new UplinkReading(open, stalled, longest == TimeSpan.Zero ? TimeSpan.Zero : shortest, longest, webSockets);
    }

    /// <summary>Takes over the session's first uplink and runs the session until it ends.</summary>
    /// <param name="first">The first uplink, after its WELCOME.</param>
    /// <param name="rest">Bytes that arrived after it.</param>
    /// <returns>Why the last uplink ended, or what ended the session as a whole.</returns>
    public async Task<UplinkEnd> RunAsync(IUplinkTransport first, ReadOnlyMemory<byte> rest)
    {
        Start(first, rest);
        using var over = new CancellationTokenSource();
        var keeping = _maxUplinks > 1 && _policy != UplinkPolicy.Fixed(1) ? KeepAsync(over.Token) : Task.CompletedTask;
        var end = await _ended.Task.ConfigureAwait(false);
        await over.CancelAsync().ConfigureAwait(false);
        await keeping.ConfigureAwait(false);
        return end;
    }

    /// <summary>The reason in the server's GOAWAY on the uplink that ended last; None where there was none.</summary>
    public SessionEndReason LastGoAway { get; private set; }

    /// <summary>This session, or its server, is about to end: no uplink is dialled any more.</summary>
    /// <returns>False when it was called before.</returns>
    public bool StopDialling()
    {
        lock (_gate)
        {
            var first = !_stopping;
            _stopping = true;
            return first;
        }
    }

    private UplinkConnection Start(IUplinkTransport transport, ReadOnlyMemory<byte> rest)
    {
        var uplink = _create(transport);
        uplink.EndObserver = OnEnded;
        lock (_gate)
        {
            if (transport is WebSocketTransport)
            {
                _webSockets.Add(uplink);
            }

            if (_isOver)
            {
                // The session's last uplink ended while this one was dialled; nothing would wait for it.
                transport.Abort();
            }

            _uplinks.Add(uplink);
        }

        _heartbeat.Add(uplink);
        _ = RunUplinkAsync(uplink, rest);
        return uplink;
    }

    private async Task RunUplinkAsync(UplinkConnection uplink, ReadOnlyMemory<byte> rest)
    {
        var started = _timeProvider.GetTimestamp();
        UplinkEnd end;
        try
        {
            end = await uplink.RunAsync(rest).ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            end = new UplinkEnd(SessionEndReason.Internal, Text: exception.Message);
            uplink.TryEnd(end);
        }

        bool last;
        TaskCompletionSource changed;
        lock (_gate)
        {
            _uplinks.Remove(uplink);
            _webSockets.Remove(uplink);
            if (!_retiring.Remove(uplink))
            {
                _lostAfter = _timeProvider.GetElapsedTime(started);
            }

            LastGoAway = uplink.PeerGoAwayReason;

            // What concerns the session and not one uplink is why it ended, also when another uplink ends last.
            _sessionEnd ??= end.Reason is SessionEndReason.Superseded or SessionEndReason.Revoked ? end : null;
            last = _uplinks.Count == 0;
            _isOver |= last;
            changed = _changed;
        }

        // Last: what is not watched any more has left the session.
        _heartbeat.Remove(uplink);
        changed.TrySetResult();
        if (last)
        {
            _ended.TrySetResult(_sessionEnd ?? end);
        }
    }

    /// <summary>What ends the session ends all uplinks at once: the one that found it may take a second to close.</summary>
    private void OnEnded(UplinkEnd end)
    {
        UplinkConnection[] others;
        lock (_gate)
        {
            others = end.EndsSession && _sessionEnd is null ? [.. _uplinks] : [];
            _sessionEnd ??= end.EndsSession ? end : null;
        }

        foreach (var other in others)
        {
            other.TryEnd(end with { ByPeer = false });
        }
    }

    /// <summary>Keeps as many uplinks as there should be, for as long as the session lives.</summary>
    private async Task KeepAsync(CancellationToken over)
    {
        var growth = _policy.IsAuto ? new UplinkGrowth(_timeProvider, Math.Min(MaxAutomatic, _maxUplinks)) : null;
        var backoff = new FullJitterBackoff(_timeProvider, Random.Shared, _schedule);
        var wanted = _policy.IsAuto ? 1 : Math.Min(_policy.Count, _maxUplinks);
        var notBefore = _timeProvider.GetTimestamp();
        try
        {
            while (true)
            {
                TaskCompletionSource changed;
                UplinkConnection[] serving;
                bool mayDial;
                TimeSpan? lostAfter;
                lock (_gate)
                {
                    changed = _changed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                    serving = [.. _uplinks.Where(uplink => uplink.IsOpenForStreams && !_retiring.Contains(uplink))];
                    mayDial = !_stopping && _uplinks.Count is > 0 and var count && count < _maxUplinks - _keptFree;
                    lostAfter = _lostAfter;
                    _lostAfter = null;
                }

                if (lostAfter is { } upTime)
                {
                    notBefore = After(backoff.NextDelay(upTime));
                }

                if (growth is not null)
                {
                    wanted = growth.Decide(serving.Select(UplinkSample.Of).ToArray(), wanted);
                    if (wanted < serving.Length)
                    {
                        Retire(serving);
                    }
                }

                var now = _timeProvider.GetTimestamp();
                if (serving.Length < wanted && mayDial && now >= notBefore)
                {
                    var outcome = await _joiner.JoinAsync(isDirect: false, over).ConfigureAwait(false);
                    if (outcome.Transport is { } transport)
                    {
                        Start(transport, outcome.Rest);
                        continue;
                    }

                    // The session continues with what it has; what is missing is tried again, more and more seldom while it fails.
                    notBefore = After(backoff.NextDelay(TimeSpan.Zero, outcome.RetryAfter));
                }

                await WaitAsync(changed.Task, serving.Length < wanted ? notBefore : null, over).ConfigureAwait(false);
            }
        }
        catch (OperationCanceledException)
        {
            // The session is over.
        }
    }

    private long After(TimeSpan delay) => _timeProvider.GetTimestamp() + (long)(delay.TotalSeconds * _timeProvider.TimestampFrequency);

    /// <summary>
    /// Waits for a change of the uplinks, or until it is time to look again: the period, or the next dial where that is sooner.
    /// </summary>
    private async Task WaitAsync(Task changed, long? dialAt, CancellationToken over)
    {
        var now = _timeProvider.GetTimestamp();
        var limit = dialAt is { } at && at > now && _timeProvider.GetElapsedTime(now, at) is var untilDial && untilDial < _period
            ? untilDial
            : _period;

        // A wait is of whole milliseconds: one that was rounded down would end before its time, and the loop would spin until
        // then.
        limit = TimeSpan.FromMilliseconds(Math.Ceiling(limit.TotalMilliseconds));

        // The end of the limit is the usual case: an exception would cost more than the work that follows.
        await changed.WaitAsync(limit, _timeProvider, over).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        over.ThrowIfCancellationRequested();
    }

    /// <summary>
    /// Begins to retire one uplink that has no stream. Where all have some, nothing would be gained: the connection would stay.
    /// </summary>
    private void Retire(UplinkConnection[] serving)
    {
        // The first one last: its route may be the only one that is known to work.
        for (var i = serving.Length - 1; i >= 0; i--)
        {
            var uplink = serving[i];
            if (uplink.OpenStreams == 0)
            {
                lock (_gate)
                {
                    _retiring.Add(uplink);
                }

                _ = RetireAsync(uplink);
                return;
            }
        }
    }

    /// <summary>
    /// Sends the notice that an uplink is not needed. The server opens no more streams there and ends it after the last one, so that none
    /// is lost. A server that does not end it is not waited for long when no stream is open any more.
    /// </summary>
    private async Task RetireAsync(UplinkConnection uplink)
    {
        const string Text = "The uplink is not needed any more.";
        uplink.SendGoAwayNotice(SessionEndReason.Shutdown, Text);
        for (var idleSince = _timeProvider.GetTimestamp(); uplink.End is null && _timeProvider.GetElapsedTime(idleSince) < _closeLimit;)
        {
            await Task.Delay(_period, _timeProvider).ConfigureAwait(false);
            if (uplink.OpenStreams > 0)
            {
                idleSince = _timeProvider.GetTimestamp();
            }
        }

        uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown, Text: Text));
    }
}
