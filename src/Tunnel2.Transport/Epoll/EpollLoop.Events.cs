using System.Diagnostics;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Epoll;

/// <content>
/// The events that were fetched, and what they say of a socket before they are handled: one look at all sockets serves everybody who asks
/// within a millisecond whether something has come, and nobody asks the kernel about each of them.
/// </content>
internal sealed unsafe partial class EpollLoop
{
    /// <summary>
    /// Few enough that what a round has gathered for an uplink leaves while the next sockets are served, so that the peer works at the same
    /// time; more than enough for a batch.
    /// </summary>
    private const int EventsPerRound = 128;

    /// <summary>Those of a round, and what looks ahead find while it lasts.</summary>
    private const int MaxEvents = 1024;

    /// <summary>A look serves for so long.</summary>
    private static readonly long _freshTicks = Stopwatch.Frequency / 1000;

    private readonly EpollEvents _events = new(MaxEvents);

    /// <summary>In <see cref="_events"/>: the first that is not handled, the first that is not noted, and behind the last.</summary>
    private int _next;
    private int _noted;
    private int _fetched;

    /// <summary>The events that were handled before the first in <see cref="_events"/> came.</summary>
    private long _handledBefore;

    /// <summary>
    /// When the loop looked at its sockets: what had come until then is handled, or noted in <see cref="EpollHandle.LastEvent"/>.
    /// </summary>
    private long _lookedAt;

    /// <summary>
    /// Whether the loop can say that a millisecond ago nothing had come to a socket of its own that the socket has not heard of. False:
    /// something has come, or the loop cannot tell. Costs a system call where nobody looked within a millisecond.
    /// </summary>
    public bool KnowsOfNothingFor(EpollHandle handle)
    {
        if (!IsCurrent)
        {
            return false;
        }

        var now = Stopwatch.GetTimestamp();
        return (now - _lookedAt <= _freshTicks || TryLookAhead(now)) && handle.LastEvent <= _handledBefore + _next;
    }

    /// <summary>Fetches what has come since the round began, and notes whom the events that are not handled yet are for.</summary>
    /// <returns>False: there may be more than was fetched.</returns>
    private bool TryLookAhead(long now)
    {
        var room = MaxEvents - _fetched;
        var found = room == 0 ? 0 : Libc.EpollWait(_epoll, _events.At(_fetched), room, 0);
        if (found < 0)
        {
            return false;
        }

        // An event that was fetched is not told of again: it is handled whatever this look is worth.
        _fetched += found;
        for (var i = Math.Max(_noted, _next); i < _fetched; i++)
        {
            if (_slots.Find(_events.Data(i)) is { } handle)
            {
                handle.LastEvent = _handledBefore + i + 1;
            }
        }

        _noted = _fetched;
        if (found == room)
        {
            return false;
        }

        _lookedAt = now;
        return true;
    }

    /// <summary>Handles a round's events: those that were fetched ahead, or those that a wait has brought.</summary>
    /// <param name="waited">What the wait has brought; negative where it was interrupted.</param>
    /// <param name="since">When it did.</param>
    /// <returns>How many there were.</returns>
    private int HandleEvents(int waited, long since)
    {
        var hasWaited = _fetched == 0;
        _fetched += Math.Max(0, waited);
        var begin = _next;
        var end = Math.Min(_fetched, _next + EventsPerRound);
        while (_next < end)
        {
            var index = _next++;
            var token = _events.Data(index);
            if (token != 0 && _slots.Find(token) is { } handle)
            {
                Handle(handle, _events.Mask(index));
            }
        }

        if (hasWaited && waited is >= 0 and < EventsPerRound && since > _lookedAt)
        {
            _lookedAt = since;
        }

        if (_next == _fetched)
        {
            _handledBefore += _fetched;
            (_next, _noted, _fetched) = (0, 0, 0);
        }

        return end - begin;
    }
}
