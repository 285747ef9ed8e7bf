namespace Tunnel2.ProxyEntry.Access;

/// <summary>
/// Computes slow hashes on the pool: at most half of the processors do so at once, and at most some wait, the owners of the tunnels in
/// turn. So wrong logins cannot take the machine from requests, and those at one owner's tunnels cannot keep out the logins at others'.
/// Thread-safe.
/// </summary>
internal sealed class PasswordChecks
{
    /// <summary>How many checks run or wait.</summary>
    private const int Most = 64;

    private readonly Lock _gate = new();
    private readonly Dictionary<string, LinkedList<Waiting>> _waiting = [];
    private readonly Queue<string> _turns = new();
    private readonly int _mostRunning = Math.Max(1, Environment.ProcessorCount / 2);
    private int _running;
    private int _count;

    /// <summary>Runs a check.</summary>
    /// <param name="owner">The owner of the tunnel.</param>
    /// <param name="check">The check, which runs on the pool.</param>
    /// <returns>
    /// Its result, which is null when its place went to an owner that had fewer; no task: too many run or wait.
    /// </returns>
    public Task<bool?>? TryRun(string owner, Func<bool> check)
    {
        var one = new Waiting(check);
        Waiting? gaveWay = null;
        lock (_gate)
        {
            if (_running < _mostRunning)
            {
                _running++;
                _count++;
                _ = Task.Run(() => Run(one));
                return one.Task;
            }

            _waiting.TryGetValue(owner, out var own);
            if (_count < Most)
            {
                _count++;
            }
            else if (TakeFromLongestUnsynchronized(own?.Count ?? 0) is { } last)
            {
                gaveWay = last;
            }
            else
            {
                return null;
            }

            if (own is null)
            {
                _waiting.Add(owner, own = []);
                _turns.Enqueue(owner);
            }

            own.AddLast(one);
        }

        gaveWay?.TrySetResult(null);
        return one.Task;
    }

    private void Run(Waiting one)
    {
        try
        {
            one.TrySetResult(one.Check());
        }
        catch (Exception exception)
        {
            one.TrySetException(exception);
        }

        lock (_gate)
        {
            _count--;
            if (NextUnsynchronized() is { } next)
            {
                _ = Task.Run(() => Run(next));
            }
            else
            {
                _running--;
            }
        }
    }

    private Waiting? NextUnsynchronized()
    {
        if (!_turns.TryDequeue(out var owner))
        {
            return null;
        }

        var own = _waiting[owner];
        var next = own.First!.Value;
        own.RemoveFirst();
        if (own.Count == 0)
        {
            _waiting.Remove(owner);
        }
        else
        {
            _turns.Enqueue(owner);
        }

        return next;
    }

    /// <summary>Takes the last check of the owner with most of them, if that leaves it with at least as many as the newcomer's.</summary>
    private Waiting? TakeFromLongestUnsynchronized(int own)
    {
        if (_waiting.Values.MaxBy(static checks => checks.Count) is not { } longest || longest.Count < own + 2)
        {
            return null;
        }

        var last = longest.Last!.Value;
        longest.RemoveLast();
        return last;
    }

    private sealed class Waiting(Func<bool> check)
        : TaskCompletionSource<bool?>(TaskCreationOptions.RunContinuationsAsynchronously)
    {
        public Func<bool> Check => check;
    }
}
