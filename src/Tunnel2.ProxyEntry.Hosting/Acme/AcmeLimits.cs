using System.Collections.Concurrent;
using System.Globalization;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>
/// How often an authority is asked: orders of an hour, with each agent's share, pauses after failures of a name, and of the authority as a
/// whole. Each of them survives a restart. In a cluster all of it is counted for all nodes together. Thread-safe; one task
/// at a time orders.
/// </summary>
/// <param name="settings">The limits.</param>
/// <param name="store">Keeps them over a restart.</param>
/// <param name="time">The clock.</param>
/// <param name="logger">Where to log.</param>
internal sealed class AcmeLimits(AcmeSettings settings, AcmeStore store, TimeProvider time, ILogger logger)
{
    /// <summary>More failures in a row make no pause longer.</summary>
    private const int MostFailures = 100;

    private static readonly TimeSpan _hour = TimeSpan.FromHours(1);
    private static readonly TimeSpan _firstPause = TimeSpan.FromMinutes(5);
    private static readonly TimeSpan _longestPause = TimeSpan.FromDays(1);
    private static readonly TimeSpan _firstServerPause = TimeSpan.FromMinutes(1);

    private readonly Lock _gate = new();
    private readonly ConcurrentDictionary<string, AcmeFailure> _failures = new(StringComparer.Ordinal);
    private readonly List<CountedOrder> _orders = [];
    private DateTimeOffset _pausedUntil = DateTimeOffset.MinValue;
    private DateTimeOffset _reportedUntil = DateTimeOffset.MinValue;
    private int _serverFailures;
    private AcmePace? _followed;
    private bool _isShared;

    /// <summary>How many names could not get a certificate at their last try.</summary>
    public int Failing => _failures.Count;

    /// <summary>The first of these by name, with the reasons: for operators. Any thread may ask.</summary>
    public IReadOnlyList<CertificateRefusal> Refusals =>
    [
        .. _failures.ToArray()
            .OrderBy(static one => one.Key, StringComparer.Ordinal)
            .Take(CertificateRefusal.MostShown)
            .Select(static one => new CertificateRefusal(one.Key, one.Value.Reason) { NextTry = one.Value.NextTry }),
    ];

    /// <summary>Whether the authority is not asked for any name now.</summary>
    /// <remarks>A pause that ends later than any pause is of a clock that was wrong.</remarks>
    public bool IsPaused => time.GetUtcNow() is var now && Pace.PausedUntil is var until && now < until && until - now <= _hour;

    /// <summary>How often the authority was asked, for all names.</summary>
    public AcmePace Pace
    {
        get
        {
            lock (_gate)
            {
                return PaceUnsynchronized();
            }
        }
    }

    /// <summary>The same as all nodes of the cluster know it; null: they know nothing.</summary>
    public AcmePace? Followed
    {
        get
        {
            lock (_gate)
            {
                return _followed;
            }
        }
    }

    /// <summary>What counts in a row of failures, for each name.</summary>
    public IReadOnlyList<KeyValuePair<string, AcmeFailure>> Failures => [.. _failures.Where(static one => one.Value.Count > 0)];

    /// <summary>Reads what the store has kept.</summary>
    public void Load()
    {
        lock (_gate)
        {
            var kept = store.LoadState(_failures);
            _orders.AddRange(kept.Orders);
            (_pausedUntil, _serverFailures) = (kept.PausedUntil, Math.Min(kept.ServerFailures, MostFailures));
        }
    }

    /// <summary>What all nodes have counted takes the place of what this one knew; null: they have counted nothing.</summary>
    public void Follow(AcmePace? pace)
    {
        lock (_gate)
        {
            _isShared = true;
            _followed = pace;
            if (pace is not null)
            {
                _orders.Clear();
                _orders.AddRange(pace.Orders);
                _pausedUntil = pace.PausedUntil;
                _serverFailures = pace.ServerFailures;
            }
        }
    }

    /// <summary>What all nodes know of a name's failures; null: it has none.</summary>
    public void Follow(string name, AcmeFailure? failure)
    {
        if (failure is not null)
        {
            _failures[name] = failure;
        }
        else if (_failures.TryGetValue(name, out var before) && before.Count > 0)
        {
            _failures.TryRemove(name, out _);
        }
    }

    /// <summary>Another node has got a certificate for a name.</summary>
    public void Settle(string name) => _failures.TryRemove(name, out _);

    /// <summary>The failures of the cluster count from now on, and no others.</summary>
    public void ForgetFailures()
    {
        foreach (var (name, _) in Failures)
        {
            Follow(name, null);
        }
    }

    /// <summary>A name is not tried for a while, although nothing is wrong with it. That is said once for each name and reason.</summary>
    public void Postpone(string name, string reason, TimeSpan wait)
    {
        var until = time.GetUtcNow() + wait;
        _failures.TryGetValue(name, out var before);
        _failures[name] = new AcmeFailure(
            before?.Count ?? 0, before?.NextTry > until ? before.NextTry : until, reason, IsPostponed: true);
        if (before?.Reason != reason)
        {
            ProxyEntryLog.CertificateNotObtained(logger, name, reason, (long)wait.TotalSeconds);
        }
    }

    /// <summary>What was in the way of names is not any more.</summary>
    public void ForgetPostponed()
    {
        foreach (var (name, _) in _failures.Where(static one => one.Value is { Count: 0, IsPostponed: true }))
        {
            _failures.TryRemove(name, out _);
        }
    }

    /// <summary>The failure of a name; null: its last try was none.</summary>
    public AcmeFailure? Find(string name) => _failures.GetValueOrDefault(name);

    /// <summary>Whether a name may be tried now.</summary>
    /// <remarks>A pause that is longer than any is of a clock that was wrong.</remarks>
    public bool MayTry(string name) => !_failures.TryGetValue(name, out var failure)
        || time.GetUtcNow() is var now && (now >= failure.NextTry || failure.NextTry - now > _longestPause);

    /// <summary>Forgets orders of an hour ago, and names whose last try was long ago.</summary>
    /// <param name="isListed">Whether a name will be tried again in any case.</param>
    public void Forget(Func<string, bool> isListed)
    {
        var now = time.GetUtcNow();
        lock (_gate)
        {
            // The clock of another node may be ahead of this one.
            var last = _isShared ? now + _hour : now;
            _orders.RemoveAll(order => order.At <= now - _hour || order.At > last);
        }

        foreach (var (name, failure) in _failures)
        {
            if (failure.NextTry < now - _longestPause && !isListed(name))
            {
                _failures.TryRemove(name, out _);
            }
        }
    }

    /// <summary>Takes a place of this hour for an order.</summary>
    /// <param name="name">The name.</param>
    /// <param name="kept">How many certificates there are.</param>
    /// <param name="isNew">Whether the name has none yet.</param>
    /// <param name="isListed">Whether the settings name it. A quarter of the hour is kept for these, and for renewals.</param>
    /// <param name="owner">The owner of the tunnel that has the name, or null. It gets at most half of what the others have left.</param>
    /// <returns>What counts from now on; null when there is no place, or no more certificates may be kept.</returns>
    public AcmePace? TryOrder(string name, int kept, bool isNew, bool isListed, string? owner = null)
    {
        var now = time.GetUtcNow();
        var most = settings.PerHour - (isNew && !isListed ? settings.PerHour / 4 : 0);
        owner = isNew && !isListed ? owner : null;
        AcmePace? counted = null;
        CountedOrder[] own;
        int orders;
        lock (_gate)
        {
            // Not twice: another node may count at any time.
            own = [.. _orders.Where(order => owner is not null && order.Owner == owner)];
            orders = _orders.Count;
            var isFull = (isNew && kept >= settings.MaxCertificates) || orders >= most;
            if (!isFull && (owner is null || own.Length < (most - (orders - own.Length) + 1) / 2))
            {
                _orders.Add(new CountedOrder(now, owner));
                counted = PaceUnsynchronized();
            }
            else if (isFull)
            {
                own = [];
            }
        }

        if (counted is not null)
        {
            // Before the order: a process that is restarted again and again keeps to the limit too.
            Save();
        }
        else if (own.Length > 0)
        {
            RefuseShare(name, own.Length, own.Min(static order => order.At) + _hour);
        }
        else if (now >= _reportedUntil)
        {
            _reportedUntil = now + _hour;
            ProxyEntryLog.CertificateLimit(logger, name, orders, kept);
        }

        return counted;
    }

    /// <summary>An operator wants a name to be tried now, also after failures.</summary>
    public void Forgive(string name)
    {
        _failures.TryRemove(name, out _);
        lock (_gate)
        {
            _pausedUntil = DateTimeOffset.MinValue;
        }
    }

    /// <summary>A name has got its certificate.</summary>
    public void OnObtained(string name)
    {
        _failures.TryRemove(name, out _);
        lock (_gate)
        {
            _serverFailures = 0;
        }

        Save();
    }

    /// <summary>A name has not got one: it waits, longer with each failure in a row, and as long as the authority asks.</summary>
    public void OnFailed(string name, AcmeException exception)
    {
        var now = time.GetUtcNow();
        var count = (_failures.TryGetValue(name, out var before) ? Math.Min(before.Count, MostFailures) : 0) + 1;
        var wait = Limited(Doubled(_firstPause, count), exception.RetryAfter ?? TimeSpan.Zero, _longestPause);
        _failures[name] = new AcmeFailure(count, now + wait, AcmeJson.Clean(exception.Message));
        ProxyEntryLog.CertificateNotObtained(logger, name, exception.Message, (long)wait.TotalSeconds);
        lock (_gate)
        {
            _serverFailures = exception.IsOfServer ? Math.Min(_serverFailures + 1, MostFailures) : 0;
            if (exception.IsOfServer)
            {
                _pausedUntil = now + Limited(Doubled(_firstServerPause, _serverFailures), exception.RetryAfter ?? TimeSpan.Zero, _hour);
            }
        }

        Save();
    }

    /// <summary>At least so long, and in any case at most so long.</summary>
    public static TimeSpan Limited(TimeSpan wait, TimeSpan least, TimeSpan most)
    {
        var enough = wait > least ? wait : least;
        return enough < most ? enough : most;
    }

    /// <summary>The first pause, doubled with each failure in a row.</summary>
    private static TimeSpan Doubled(TimeSpan first, int count) => first * Math.Pow(2, Math.Min(count - 1, 20));

    /// <summary>The name waits until its agent has a place again. It is no failure: the next one does not wait longer.</summary>
    private void RefuseShare(string name, int own, DateTimeOffset nextTry)
    {
        var reason = string.Create(
            CultureInfo.InvariantCulture,
            $"its agent has had {own} new certificates within an hour, the share of one agent (half of what others leave of Acme:PerHour)");
        _failures[name] = new AcmeFailure(_failures.TryGetValue(name, out var before) ? before.Count : 0, nextTry, reason);
        ProxyEntryLog.CertificateNotObtained(logger, name, reason, (long)(nextTry - time.GetUtcNow()).TotalSeconds);
        Save();
    }

    private AcmePace PaceUnsynchronized() => new([.. _orders], _pausedUntil, _serverFailures, _followed?.Version ?? 0);

    private void Save()
    {
        try
        {
            store.SaveState(_failures.Where(static one => one.Value is not { Count: 0, IsPostponed: true }), Pace);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            ProxyEntryLog.CertificateNotKept(logger, store.Folder, exception.Message);
        }
    }
}
