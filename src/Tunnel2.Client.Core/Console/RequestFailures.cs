namespace Tunnel2.Client.Core.Console;

/// <summary>
/// Reports the first request that failed in some way, and then every ten seconds how many more did, until none did for as long. The ways
/// are few: their words are the agent's own. Thread-safe; never waits.
/// </summary>
internal sealed class RequestFailures
{
    /// <summary>How often it reports how many there were.</summary>
    public static readonly TimeSpan Window = TimeSpan.FromSeconds(10);

    private readonly Lock _gate = new();
    private readonly Dictionary<(string Leg, string Error), long> _counts = [];
    private readonly TimeProvider _time;
    private readonly Action<AgentEvent> _post;
    private ITimer? _timer;
    private long _began;

    /// <param name="time">The clock.</param>
    /// <param name="post">Takes the events, without waiting.</param>
    public RequestFailures(TimeProvider time, Action<AgentEvent> post)
    {
        _time = time;
        _post = post;
    }

    /// <summary>A request failed.</summary>
    public void Note(string leg, string error)
    {
        lock (_gate)
        {
            if (_counts.TryGetValue((leg, error), out var count))
            {
                _counts[(leg, error)] = count + 1;
                return;
            }

            _counts.Add((leg, error), 0);
            if (_counts.Count == 1)
            {
                _began = _time.GetTimestamp();
                _timer ??= _time.CreateTimer(
                    static self => ((RequestFailures)self!).EndWindow(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
                _timer.Change(Window, Timeout.InfiniteTimeSpan);
            }
        }

        _post(new RequestsFailedEvent(_time.GetUtcNow(), leg, error, 1, null));
    }

    /// <summary>Reports what it has counted after the last report.</summary>
    public void EndWindow()
    {
        var reports = new List<RequestsFailedEvent>();
        lock (_gate)
        {
            var lasted = _time.GetElapsedTime(_began);
            _began = _time.GetTimestamp();
            foreach (var (kind, count) in _counts.ToArray())
            {
                if (count == 0)
                {
                    // Quiet for a while: the next one is news again.
                    _counts.Remove(kind);
                    continue;
                }

                reports.Add(new RequestsFailedEvent(_time.GetUtcNow(), kind.Leg, kind.Error, count, lasted));
                _counts[kind] = 0;
            }

            _timer?.Change(_counts.Count == 0 ? Timeout.InfiniteTimeSpan : Window, Timeout.InfiniteTimeSpan);
        }

        reports.ForEach(_post);
    }
}
