using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Limits;

/// <summary>
/// What this node may spend of the limit of one name, and what it wants. Has no clock of its own: a moment is a time since any beginning.
/// Not thread-safe.
/// </summary>
/// <param name="perSecond">Requests a second of the whole limit.</param>
/// <param name="now">The moment.</param>
internal sealed class NameLimit(int perSecond, TimeSpan now)
{
    /// <summary>From this part of the limit on, wanted at all nodes together, it is reported often.</summary>
    private const double Near = 0.5;

    /// <summary>Requests in the time over which the demand is averaged: fewer would be chance.</summary>
    private const double Averaged = 5;

    private TimeSpan _measured = now;
    private TimeSpan _asked = now;
    private TimeSpan _reported = now - ShareTimes.Slow;
    private TimeSpan? _failing;
    private TimeSpan _returned = now - ShareTimes.Patience;
    private int _nodes;
    private double? _decided;
    private bool _isPressed;
    private bool _wasPressed;
    private bool _isNear;
    private bool _isShort;
    private bool _isAlone;

    /// <summary>What this node may spend: a part of the limit.</summary>
    public double Share { get; private set; } = TierShares.Start;

    /// <summary>What its visitors want: a part of the limit.</summary>
    public double Demand { get; private set; }

    /// <summary>Whether other nodes have sessions of the name, as far as this node knows.</summary>
    public bool IsShared => _nodes != 1;

    /// <summary>Whether a request was refused since the last report.</summary>
    public bool IsPressed => _isPressed;

    /// <summary>Whether the others have what this node reported last, and count on it.</summary>
    public bool IsOnBoard { get; private set; }

    /// <summary>Requests a second of the whole limit.</summary>
    public int PerSecond { get; set; } = perSecond;

    /// <summary>When the next report is due.</summary>
    /// <param name="now">The moment.</param>
    public TimeSpan DueIn(TimeSpan now)
    {
        var every = _failing is { } since ? (_reported == since ? ShareTimes.Least : ShareTimes.Fast)
            : !IsOnBoard && _nodes > 0 && Demand == 0 && !_isPressed ? ShareTimes.IdleLook
            : _nodes == 0 ? ShareTimes.Least
            : _isPressed && !_wasPressed ? ShareTimes.Least
            : !IsShared ? ShareTimes.Lone
            : _isShort ? ShareTimes.Short
            : _isNear || _isPressed || Demand >= Near / 2 ? ShareTimes.Fast
            : ShareTimes.Slow;
        var due = _reported + every - now;
        return due > TimeSpan.Zero ? due : TimeSpan.Zero;
    }

    /// <summary>Another node got or lost a session of the name: it is reported at once.</summary>
    public void LookNow() => _reported -= ShareTimes.IdleLook;

    /// <summary>Counts requests.</summary>
    /// <param name="now">The moment.</param>
    /// <param name="asked">Requests since the last count.</param>
    /// <param name="refused">How many of them were refused.</param>
    public void Count(TimeSpan now, long asked, long refused)
    {
        _isPressed |= refused > 0;
        if (asked > 0)
        {
            _asked = now;
        }

        var time = (now - _measured).TotalSeconds;
        if (time <= 0)
        {
            return;
        }

        _measured = now;

        // A few requests in a moment are no rate.
        var latest = asked / Math.Max(time, Averaged / PerSecond) / PerSecond;
        var over = Math.Clamp(Averaged / PerSecond, ShareTimes.Fast.TotalSeconds / 2, ShareTimes.Slow.TotalSeconds);
        var kept = Math.Exp(-time / over);
        if (!IsOnBoard)
        {
            // It begins: the time was mostly one without requests. A count right after forgets nothing.
            Demand = Math.Max(kept * Demand, refused > 0 ? Math.Max(latest, Math.Min(1, asked / Averaged)) : latest);
            return;
        }

        Demand += (1 - kept) * ((asked / time / PerSecond) - Demand);
        if (_isPressed && !_wasPressed)
        {
            Demand = Math.Max(Demand, latest);
        }
    }

    /// <summary>
    /// Decides the next share. What is less holds at once, because the others may take it; what is more after <see cref="Done"/>.
    /// </summary>
    /// <returns>What the others get; null: this node needs no share.</returns>
    public double? Decide(TimeSpan now, ShareView view)
    {
        if (_isAlone || now - _returned < ShareTimes.Patience)
        {
            view = view.AfterOutage();
        }

        var nodes = Math.Max(1, Math.Max(view.Nodes, view.Others.Count + 1));
        var isIdle = Demand * PerSecond < 0.5 && now - _asked >= ShareTimes.Idle;
        var isReported = !isIdle && (Demand > 0 || IsOnBoard);
        var (next, isShort) = isReported ? TierShares.Next(Demand, view) : (TierShares.Floor(nodes), false);
        _nodes = nodes;
        _isShort = isShort;
        _isNear = Demand + view.Others.Sum(static other => other.Demand) >= Near;
        if (_isAlone || now - _returned < ShareTimes.Return)
        {
            next = Math.Min(next, Math.Max(view.Own, 1.0 / nodes));
        }

        // What the others have counted on since a call whose answer was lost holds too.
        _decided = next;
        Share = Math.Min(Math.Max(Share, view.Own), next);
        IsOnBoard = isReported;
        if (!isReported)
        {
            Demand = 0;
        }

        return isReported ? next : null;
    }

    /// <summary>The others have what was decided.</summary>
    public void Done(TimeSpan now)
    {
        Share = _decided ?? Share;
        _decided = null;
        (_reported, _failing) = (now, null);
        (_wasPressed, _isPressed) = (_isPressed, false);
        if (_isAlone)
        {
            _isAlone = false;
            _returned = now;
        }
    }

    /// <summary>No report arrived, or it is not known whether one did.</summary>
    /// <param name="now">The moment.</param>
    /// <param name="nodes">How many nodes there are, where none was ever seen with sessions of the name.</param>
    public void Failed(TimeSpan now, int nodes)
    {
        _decided = null;
        _reported = now;
        _failing ??= now;
        var since = now - _failing.Value;
        if (_nodes == 0 || since >= ShareTimes.Kept)
        {
            var sharing = Math.Max(1, _nodes > 0 ? _nodes : nodes);
            _isAlone = true;
            Share = (sharing > 1 && since >= ShareTimes.Reserved ? 0.5 : 1) / sharing;
            IsOnBoard = false;
        }
    }
}
