using System.Diagnostics.CodeAnalysis;
using System.Globalization;
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
/// The sessions that an administrator inspects, each for a time. A session that nobody inspects has a null, and its requests ask for no
/// more than that. The log says who began each inspection, and how it ended. Thread-safe.
/// </summary>
internal sealed class EntryInspections : IDisposable
{
    /// <summary>How many sessions are inspected at once.</summary>
    public const int MostSessions = 8;

    private readonly Lock _gate = new();
    private readonly Dictionary<string, Inspected> _inspected = new(StringComparer.Ordinal);
    private readonly ISessionDirectory _directory;
    private readonly Http1Front _front;
    private readonly PublicAddresses _addresses;
    private readonly TimeProvider _time;
    private readonly ILogger _logger;
    private readonly string? _node;

    public EntryInspections(
        ProxyEntrySettings settings, ISessionDirectory directory, Http1Front front, PublicAddresses addresses, TimeProvider time,
        ILogger<EntryInspections> logger, IOtherNodes? others = null)
    {
        _node = others is null ? null : settings.EntryId;
        _front = front;
        _directory = directory;
        _addresses = addresses;
        _time = time;
        _logger = logger;
        directory.Registered += OnRegistered;
    }

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

    /// <summary>Inspects a session, or inspects it for another time.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="minutes">For how long.</param>
    /// <param name="by">Who wants it.</param>
    /// <returns>Until when; null where there are too many.</returns>
    public DateTimeOffset? TryStart(string name, int minutes, string? by)
    {
        var until = _time.GetUtcNow() + TimeSpan.FromMinutes(minutes);
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

            one.Since = _time.GetTimestamp();
            one.Lasts = TimeSpan.FromMinutes(minutes);
            one.Session.Until = until;
            one.Timer.Change(one.Lasts, Timeout.InfiniteTimeSpan);
            if (_directory.Find(name, out var present) != NameState.Unknown && present is { Kind: SessionKind.Http })
            {
                present.Inspected = one.Session.Store;
            }
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
        lock (_gate)
        {
            one = TakeUnsynchronized(name);
        }

        if (one is null)
        {
            return false;
        }

        End(one, $"an administrator at {by} ended it");
        return true;
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
        }

        foreach (var one in left)
        {
            End(one, "ProxyEntry stops");
        }
    }

    [SuppressMessage("Reliability", "CA2000", Justification = "The dictionary owns it.")]
    private Inspected BeginUnsynchronized(string name)
    {
        var store = new ExchangeStore(InspectionLimits.Default, _time) { Node = _node };
        var session = new EntryInspectedSession(name, store, _front, _addresses, _time);
        var timer = _time.CreateTimer(_ => OnTime(name), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        var one = new Inspected(session, timer, _time.GetTimestamp());
        _inspected.Add(name, one);
        return one;
    }

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

            var left = one.Lasts - _time.GetElapsedTime(one.Since);
            if (left > TimeSpan.Zero)
            {
                one.Timer.Change(TimeSpan.FromMilliseconds(Math.Ceiling(left.TotalMilliseconds)), Timeout.InfiniteTimeSpan);
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
        lock (_gate)
        {
            session.Inspected = session.Kind == SessionKind.Http && _inspected.TryGetValue(session.Name, out var one)
                ? one.Session.Store
                : null;
        }
    }

    /// <summary>An inspection; what can change, under the lock.</summary>
    private sealed class Inspected(EntryInspectedSession session, ITimer timer, long began)
    {
        public EntryInspectedSession Session { get; } = session;

        public ITimer Timer { get; } = timer;

        /// <summary>When it began, a timestamp.</summary>
        public long Began { get; } = began;

        /// <summary>When somebody asked for it last, a timestamp.</summary>
        public long Since { get; set; }

        /// <summary>For how long, from then on.</summary>
        public TimeSpan Lasts { get; set; }
    }
}
