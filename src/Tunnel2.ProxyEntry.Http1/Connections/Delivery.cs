namespace Tunnel2.ProxyEntry.Connections;

/// <summary>Waits for a visitor's system before a connection is reset.</summary>
internal static class Delivery
{
    /// <summary>Looks in a row that must see nothing where bytes may be in a buffer before the socket.</summary>
    private const int EmptyLooks = 4;

    private static readonly TimeSpan _poll = TimeSpan.FromMilliseconds(5);

    /// <summary>The pause where nothing arrives: many visitors may read nothing, for minutes.</summary>
    private static readonly TimeSpan _longestPoll = TimeSpan.FromMilliseconds(250);

    /// <summary>
    /// Waits until the visitor's system has acknowledged all sent bytes, because a reset would destroy those on their way.
    /// </summary>
    /// <param name="link">The connection.</param>
    /// <param name="isAborted">Whether there is nothing to wait for any more.</param>
    /// <param name="clock">The clock.</param>
    /// <param name="limit">How long none may arrive.</param>
    public static async ValueTask WaitAsync(IVisitorLinkFeature? link, Func<bool> isAborted, TimeProvider clock, TimeSpan limit)
    {
        var (least, empty) = (int.MaxValue, 0);
        var since = clock.GetTimestamp();
        var pause = _poll;
        while (link is { IsLost: false } && !isAborted())
        {
            var left = link.Undelivered;
            if (left == 0 && (link.SeesAllSent || ++empty == EmptyLooks))
            {
                return;
            }

            if (left > 0)
            {
                empty = 0;
            }

            if (left < least)
            {
                least = left;
                since = clock.GetTimestamp();
                pause = _poll;
            }
            else if (clock.GetElapsedTime(since) >= limit)
            {
                return;
            }

            await Task.Delay(pause, clock).ConfigureAwait(false);
            if (left > 0)
            {
                pause = pause * 2 < _longestPoll ? pause * 2 : _longestPoll;
            }
        }
    }
}
