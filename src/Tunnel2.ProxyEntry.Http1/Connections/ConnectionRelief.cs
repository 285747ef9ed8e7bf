using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// Makes room when a <see cref="ConnectionLimit"/> is reached and a connection waits: it ends connections that only wait, the longest
/// first, a few at a time. It runs only while a connection waits. Thread-safe.
/// </summary>
internal sealed class ConnectionRelief
{
    /// <summary>
    /// After so many searches the connections get less time: a visitor that has waited so long in the kernel has sent its request by now.
    /// </summary>
    private const int Patience = 10;

    private readonly ConnectionLimit _limit;
    private readonly Func<int, bool, int> _end;
    private readonly Action<int> _ended;
    private readonly TimeSpan _period;
    private readonly TimeProvider _timeProvider;
    private int _running;

    /// <param name="limit">The limit.</param>
    /// <param name="end">
    /// Ends up to a number of connections and returns how many it ended; with <see langword="true"/> also younger ones, because others have
    /// waited for long.
    /// </param>
    /// <param name="period">The time between two searches.</param>
    /// <param name="ended">Called with how many were ended.</param>
    /// <param name="timeProvider">The clock.</param>
    public ConnectionRelief(ConnectionLimit limit, Func<int, bool, int> end, TimeSpan period, Action<int> ended, TimeProvider timeProvider)
    {
        _limit = limit;
        _end = end;
        _period = period;
        _ended = ended;
        _timeProvider = timeProvider;
    }

    /// <summary>A connection waits. Returns at once.</summary>
    public void Begin()
    {
        if (Interlocked.Exchange(ref _running, 1) == 0)
        {
            _ = RunAsync();
        }
    }

    private async Task RunAsync()
    {
        // Not on the accepting thread, which may belong to an engine.
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        for (var looks = 0; _limit.HasWaiting; looks++)
        {
            var isPressed = looks >= Patience;
            var ended = _end(isPressed ? Math.Max(4, _limit.Most / 4) : Math.Max(2, _limit.Most / 16), isPressed);
            if (ended > 0)
            {
                _ended(ended);
            }

            await Task.Delay(_period, _timeProvider).ConfigureAwait(false);
        }

        Volatile.Write(ref _running, 0);
        if (_limit.HasWaiting)
        {
            Begin();
        }
    }
}
