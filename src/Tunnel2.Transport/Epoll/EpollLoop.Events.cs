using System.Diagnostics;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Epoll;

/// <content>
/// The fetched events, and what they show about a socket before they are handled. Code often asks whether a socket has received something.
/// One look at all sockets answers this for a millisecond, so that the kernel is not asked about each socket.
/// </content>
internal sealed unsafe partial class EpollLoop
{
    /// <summary>
    /// Few enough events that an uplink's gathered bytes leave while the next sockets are served, so the peer works at the same time; more
    /// than enough for a batch.
    /// </summary>
    private const int EventsPerRound = 128;

    /// <summary>The events of a round, and those that looks ahead find during it.</summary>
    private const int MaxEvents = 1024;

    /// <summary>How long a look is valid.</summary>
    private static readonly long _freshTicks = Stopwatch.Frequency / 1000;

    private readonly EpollEvents _events = new(MaxEvents);

    /// <summary>
    /// Positions in <see cref="_events"/>: the first event that is not handled, the first that is not noted, and the end.
    /// </summary>
    private int _next;
    private int _noted;
    private int _fetched;

    /// <summary>How many events were handled before the first one in <see cref="_events"/>.</summary>
    private long _handledBefore;

    /// <summary>
    /// When the loop last looked at its sockets. All earlier events are handled, or noted in <see cref="EpollHandle.LastEvent"/>.
    /// </summary>
    private long _lookedAt;

    /// <summary>
    /// True if the loop knows that a millisecond ago one of its sockets had no event that the socket has not seen. False if there is an
    /// event, or if the loop cannot know. Costs a system call if the last look is older than a millisecond.
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

    /// <summary>Fetches the events since the round began, and notes the sockets of those that are not handled yet.</summary>
    /// <returns>False when there may be more events than were fetched.</returns>
    private bool TryLookAhead(long now)
    {
        var room = MaxEvents - _fetched;
        var found = room == 0 ? 0 : _events.Wait(_epoll, _fetched, room, 0);
        if (found < 0)
        {
            return false;
        }

        // The kernel does not report a fetched event again, so it is handled in any case.
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

    /// <summary>Handles a round's events: those that were fetched in advance, and those that a wait has returned.</summary>
    /// <param name="waited">How many the wait has returned; negative when it failed.</param>
    /// <param name="since">When it returned.</param>
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
