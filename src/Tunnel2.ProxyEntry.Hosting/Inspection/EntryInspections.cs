using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Security.Cryptography;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Serving;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Fronts.Http1;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Inspection;

/// <summary>
/// The sessions that an administrator inspects, each for a time. A session that no administrator inspects has a null, and its requests ask
/// for no more than that. In a cluster some are expected: they are inspected when they come here. The log says who began each inspection,
/// and how it ended. Thread-safe.
/// </summary>
internal sealed class EntryInspections : IDisposable
{
    /// <summary>How many sessions are inspected at once.</summary>
    public const int MostSessions = 8;

    private readonly Lock _gate = new();
    private readonly Dictionary<string, Inspected> _inspected = new(StringComparer.Ordinal);
    private readonly Dictionary<string, Remaining> _expected = new(StringComparer.Ordinal);
    private readonly ISessionDirectory _directory;
    private readonly Http1Front _front;
    private readonly PublicAddresses _addresses;
    private readonly TimeProvider _time;
    private readonly ILogger _logger;
    private readonly IOtherNodes? _others;
    private readonly string _entryId;
    private readonly string _process = RandomNumberGenerator.GetHexString(8, lowercase: true);

    public EntryInspections(
        ProxyEntrySettings settings, ISessionDirectory directory, Http1Front front, PublicAddresses addresses, TimeProvider time,
        ILogger<EntryInspections> logger, IOtherNodes? others = null)
    {
        _others = others;
        _entryId = settings.EntryId;
        _front = front;
        _directory = directory;
        _addresses = addresses;
        _time = time;
        _logger = logger;
        directory.Registered += OnRegistered;
    }

    /// <summary>A session that was expected is inspected here now. Raised with its name. Handlers are short and do not throw.</summary>
    public event Action<string>? Followed;

    /// <summary>This process, as other nodes know what has kept exchanges, under the name that it has now.</summary>
    public InspectionKeeper Self => new(_others?.Self ?? _entryId, _process);

    /// <summary>The sessions that are inspected.</summary>
    public IReadOnlyList<IInspectedSession> Sessions
    {
        get
        {
            lock (_gate)
            {
                return [.. _inspected.Values.Select(static one => one.Session)];
            }
        }
    }

    /// <summary>Until when a session is inspected; null where it is not.</summary>
    public DateTimeOffset? UntilOf(string name)
    {
        lock (_gate)
        {
            return _inspected.TryGetValue(name, out var one) ? one.Session.Until : null;
        }
    }

    /// <summary>How long a session is inspected still, here or where it is; null: it is not.</summary>
    public TimeSpan? LeftOf(string name)
    {
        lock (_gate)
        {
            var left = _expected.TryGetValue(name, out var expected) ? expected.Left(_time) : TimeSpan.Zero;
            if (_inspected.TryGetValue(name, out var one) && one.Remaining.Left(_time) is var here && here > left)
            {
                left = here;
            }

            return left > TimeSpan.Zero ? left : null;
        }
    }

    /// <summary>The sessions that are expected, or inspected already, and how long still.</summary>
    public IReadOnlyList<(string Name, TimeSpan Left)> Expected
    {
        get
        {
            lock (_gate)
            {
                return
                [
                    .. _expected.Select(one => (one.Key, Left: one.Value.Left(_time)))
                        .Where(static one => one.Left > TimeSpan.Zero),
                ];
            }
        }
    }

    /// <summary>Inspects a session from now on, or from when it comes here; one that is inspected, for another time.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="left">For how long.</param>
    public void Expect(string name, TimeSpan left)
    {
        var isHere = false;
        lock (_gate)
        {
            _expected[name] = new Remaining(_time.GetTimestamp(), left);
            if (_inspected.TryGetValue(name, out var one))
            {
                SetUnsynchronized(one, left);
            }
            else if (_directory.Snapshot().Any(session => session.Name == name && session.Kind == SessionKind.Http))
            {
                isHere = TryFollowUnsynchronized(name) is not null;
            }
        }

        if (isHere)
        {
            OnFollowed(name, left);
        }
    }

    /// <summary>Expects a session no more. What was kept of it here is dropped.</summary>
    public void Withdraw(string name, string reason)
    {
        Inspected? one;
        lock (_gate)
        {
            _expected.Remove(name);
            one = TakeUnsynchronized(name);
        }

        if (one is not null)
        {
            End(one, reason);
        }
    }

    /// <summary>Inspects a session, or inspects it for another time.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="minutes">For how long.</param>
    /// <param name="by">Who wants it.</param>
    /// <returns>Until when; null where there are too many.</returns>
    public DateTimeOffset? TryStart(string name, int minutes, string? by)
    {
        DateTimeOffset until;
        lock (_gate)
        {
            if (!_inspected.TryGetValue(name, out var one))
            {
                if (_inspected.Count >= MostSessions)
                {
                    return null;
                }

                one = BeginUnsynchronized(name);
            }

            until = SetUnsynchronized(one, TimeSpan.FromMinutes(minutes));
            AttachUnsynchronized(one);
        }

        ProxyEntryLog.InspectionBegun(
            _logger, by, name, minutes, minutes == 1 ? "minute" : "minutes", until.ToString("u", CultureInfo.InvariantCulture));
        return until;
    }

    /// <summary>Ends it, and drops what was kept.</summary>
    /// <param name="name">The session's name.</param>
    /// <param name="by">Who wants it.</param>
    /// <returns>Whether the session was inspected.</returns>
    public bool Stop(string name, string? by)
    {
        Inspected? one;
        bool wasExpected;
        lock (_gate)
        {
            wasExpected = _expected.Remove(name, out var expected) && expected.Left(_time) > TimeSpan.Zero;
            one = TakeUnsynchronized(name);
        }

        if (one is not null)
        {
            End(one, $"an administrator at {by} ended it");
        }

        return one is not null || wasExpected;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _directory.Registered -= OnRegistered;
        List<Inspected> left;
        lock (_gate)
        {
            left = [.. _inspected.Values];
            _inspected.Clear();
            _expected.Clear();
        }

        foreach (var one in left)
        {
            End(one, "ProxyEntry stops");
        }
    }

    [SuppressMessage("Reliability", "CA2000", Justification = "The dictionary owns it.")]
    private Inspected BeginUnsynchronized(string name)
    {
        var store = _others is { } others
            ? new ExchangeStore(InspectionLimits.Default, _time) { NamesNode = () => others.Self, Process = _process }
            : new ExchangeStore(InspectionLimits.Default, _time);
        var session = new EntryInspectedSession(name, store, _front, _addresses, _time);
        var timer = _time.CreateTimer(_ => OnTime(name), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        var one = new Inspected(session, timer, _time.GetTimestamp());
        _inspected.Add(name, one);
        return one;
    }

    /// <summary>Sets for how long.</summary>
    /// <returns>Until when.</returns>
    private DateTimeOffset SetUnsynchronized(Inspected one, TimeSpan left)
    {
        var until = _time.GetUtcNow() + left;
        one.Remaining = new Remaining(_time.GetTimestamp(), left);
        one.Session.Until = until;
        one.Timer.Change(RoundedUp(left), Timeout.InfiniteTimeSpan);
        return until;
    }

    /// <summary>All sessions of the name: those of a pool too.</summary>
    private void AttachUnsynchronized(Inspected one)
    {
        foreach (var session in _directory.Snapshot())
        {
            if (session.Kind == SessionKind.Http && session.Name == one.Session.Name)
            {
                session.Inspected = one.Session.Store;
            }
        }
    }

    /// <summary>Inspects a session that is expected and has come.</summary>
    private Inspected? TryFollowUnsynchronized(string name)
    {
        if (!_expected.TryGetValue(name, out var expected) || expected.Left(_time) is not { Ticks: > 0 } left
            || _inspected.Count >= MostSessions)
        {
            return null;
        }

        var one = BeginUnsynchronized(name);
        SetUnsynchronized(one, left);
        AttachUnsynchronized(one);
        return one;
    }

    private void OnFollowed(string name, TimeSpan left)
    {
        ProxyEntryLog.InspectionFollows(_logger, name, (long)Math.Ceiling(left.TotalSeconds));
        Followed?.Invoke(name);
    }

    private static TimeSpan RoundedUp(TimeSpan span) => TimeSpan.FromMilliseconds(Math.Ceiling(span.TotalMilliseconds));

    /// <summary>The timer may have been set again while it called, and it may call a moment early.</summary>
    private void OnTime(string name)
    {
        Inspected? one;
        lock (_gate)
        {
            if (!_inspected.TryGetValue(name, out one))
            {
                return;
            }

            var left = one.Remaining.Left(_time);
            if (left > TimeSpan.Zero)
            {
                one.Timer.Change(RoundedUp(left), Timeout.InfiniteTimeSpan);
                return;
            }

            TakeUnsynchronized(name);
        }

        End(one, "its time is over");
    }

    private Inspected? TakeUnsynchronized(string name)
    {
        if (!_inspected.Remove(name, out var one))
        {
            return null;
        }

        foreach (var session in _directory.Snapshot().Where(session => session.Name == name))
        {
            session.Inspected = null;
        }

        return one;
    }

    private void End(Inspected one, string reason)
    {
        one.Timer.Dispose();

        // A session that has lost its name may still serve requests: closed, the store keeps nothing of them.
        one.Session.Store.Close();
        ProxyEntryLog.InspectionEnded(_logger, one.Session.Name, (long)_time.GetElapsedTime(one.Began).TotalSeconds, reason);
    }

    private void OnRegistered(EntrySession session)
    {
        Inspected? followed = null;
        lock (_gate)
        {
            if (session.Kind != SessionKind.Http)
            {
                session.Inspected = null;
                return;
            }

            if (!_inspected.TryGetValue(session.Name, out var one))
            {
                one = followed = TryFollowUnsynchronized(session.Name);
            }

            session.Inspected = one?.Session.Store;
        }

        if (followed is not null)
        {
            OnFollowed(session.Name, followed.Remaining.Lasts);
        }
    }

    /// <summary>A span of time that has begun.</summary>
    private readonly record struct Remaining(long Since, TimeSpan Lasts)
    {
        public TimeSpan Left(TimeProvider time) => Lasts - time.GetElapsedTime(Since);
    }

    /// <summary>An inspection; what can change, under the lock.</summary>
    private sealed class Inspected(EntryInspectedSession session, ITimer timer, long began)
    {
        public EntryInspectedSession Session { get; } = session;

        public ITimer Timer { get; } = timer;

        /// <summary>When it began, a timestamp.</summary>
        public long Began { get; } = began;

        /// <summary>For how long, from when that was set.</summary>
        public Remaining Remaining { get; set; }
    }
}
