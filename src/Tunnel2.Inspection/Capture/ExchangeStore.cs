namespace Tunnel2.Inspection.Capture;

/// <summary>
/// The last exchanges of one session within a number of bytes that is never exceeded: whole exchanges are dropped, the oldest first.
/// Thread-safe. Its lock guards sections that wait for nothing.
/// </summary>
internal sealed class ExchangeStore
{
    private readonly Lock _gate = new();
    private readonly InspectionLimits _limits;
    private readonly TimeProvider _time;
    private readonly ExchangeCapture?[] _ring;
    private volatile ReplayExpectation[] _expected = [];
    private TaskCompletionSource? _waiters;
    private long _version;
    private long _lastId;
    private long _firstId = 1;
    private long _bytes;
    private long _dropped;
    private long _skipped;
    private bool _isClosed;

    /// <param name="limits">What it may hold.</param>
    /// <param name="time">The clock.</param>
    public ExchangeStore(InspectionLimits limits, TimeProvider time)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(limits.Exchanges, 1);
        _limits = limits;
        _time = time;
        _ring = new ExchangeCapture?[limits.Exchanges];
    }

    /// <summary>What it may hold.</summary>
    public InspectionLimits Limits => _limits;

    /// <summary>Names the node of a cluster that has it: another process may take its name. Null: it is alone.</summary>
    public Func<string>? NamesNode { private get; init; }

    /// <summary>The node of a cluster that has it, which is part of the ids of its exchanges; null: it is alone.</summary>
    public string? Node => NamesNode?.Invoke();

    /// <summary>The process of that node: another one each time it is started. Null where there is only one server.</summary>
    public string? Process { get; init; }

    /// <summary>Changes with everything that can be seen of the store.</summary>
    public long Version => Volatile.Read(ref _version);

    /// <summary>Bytes that are reserved.</summary>
    public long Bytes
    {
        get
        {
            lock (_gate)
            {
                return _bytes;
            }
        }
    }

    /// <summary>Exchanges that made room for later ones, and those that found none.</summary>
    public (long Dropped, long Skipped) Lost
    {
        get
        {
            lock (_gate)
            {
                return (_dropped, _skipped);
            }
        }
    }

    /// <summary>An exchange begins.</summary>
    /// <param name="requestHead">The request's block, as the wire has it; it is copied.</param>
    /// <returns>Null where it does not fit at all.</returns>
    public ExchangeCapture? Begin(ReadOnlySpan<byte> requestHead)
    {
        var cost = ExchangeCapture.Overhead + requestHead.Length;
        var head = requestHead.ToArray();
        ExchangeCapture capture;
        lock (_gate)
        {
            if (_isClosed)
            {
                return null;
            }

            var id = _lastId + 1;
            ref var slot = ref _ring[id % _ring.Length];
            if (slot is { } oldest)
            {
                DropUnsynchronized(oldest);
            }

            if (!TryMakeRoomUnsynchronized(cost, null))
            {
                _skipped++;
                return null;
            }

            _lastId = id;
            capture = new ExchangeCapture(this, _time, _limits, id, head) { Held = cost };
            _bytes += cost;
            slot = capture;
        }

        if (_expected.Length > 0)
        {
            Recognize(capture);
        }

        OnChanged();
        return capture;
    }

    /// <summary>Reserves memory for an exchange, if need be in place of older ones.</summary>
    /// <returns>False where it was dropped itself, or there is no room without it.</returns>
    public bool TryReserve(ExchangeCapture capture, int bytes)
    {
        lock (_gate)
        {
            if (capture.IsDropped || !TryMakeRoomUnsynchronized(bytes, capture))
            {
                return false;
            }

            _bytes += bytes;
            capture.Held += bytes;
            return true;
        }
    }

    /// <summary>Gives back a part of what is reserved.</summary>
    public void Free(ExchangeCapture capture, int bytes)
    {
        lock (_gate)
        {
            if (!capture.IsDropped)
            {
                _bytes -= bytes;
                capture.Held -= bytes;
            }
        }
    }

    /// <summary>An exchange that is still there, or null.</summary>
    public ExchangeCapture? Find(long id)
    {
        lock (_gate)
        {
            return id > 0 && _ring[id % _ring.Length] is { } capture && capture.Id == id ? capture : null;
        }
    }

    /// <summary>The last exchanges, newest first.</summary>
    /// <param name="before">Only those before this one; 0: all.</param>
    public IReadOnlyList<ExchangeCapture> Latest(long before = 0)
    {
        var found = new List<ExchangeCapture>();
        lock (_gate)
        {
            for (var id = before > 0 ? Math.Min(before - 1, _lastId) : _lastId; id >= _firstId && id > _lastId - _ring.Length; id--)
            {
                if (_ring[id % _ring.Length] is { } capture)
                {
                    found.Add(capture);
                }
            }
        }

        return found;
    }

    /// <summary>Drops all.</summary>
    public void Clear()
    {
        lock (_gate)
        {
            ClearUnsynchronized();
        }

        OnChanged();
    }

    /// <summary>Drops all and keeps nothing any more, also for code that still has the store.</summary>
    public void Close()
    {
        lock (_gate)
        {
            _isClosed = true;
            ClearUnsynchronized();
        }

        OnChanged();
    }

    /// <summary>Waits until the version is another one, at most for a time.</summary>
    public async Task WaitForChangeAsync(long version, TimeSpan most, CancellationToken cancellationToken)
    {
        var waiter = Volatile.Read(ref _waiters);
        if (waiter is null)
        {
            var mine = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            waiter = Interlocked.CompareExchange(ref _waiters, mine, null) ?? mine;
        }

        if (Version == version)
        {
            await waiter.Task.WaitAsync(most, _time, cancellationToken).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    /// <summary>A replay is about to come back.</summary>
    public void Expect(ReplayExpectation expectation)
    {
        lock (_gate)
        {
            _expected = [.. _expected, expectation];
        }
    }

    /// <summary>It is no longer waited for.</summary>
    public void Forget(ReplayExpectation expectation)
    {
        lock (_gate)
        {
            _expected = [.. _expected.Where(other => other != expectation)];
        }
    }

    /// <summary>Something of an exchange has changed.</summary>
    internal void OnChanged()
    {
        Interlocked.Increment(ref _version);
        if (Volatile.Read(ref _waiters) is not null)
        {
            Interlocked.Exchange(ref _waiters, null)?.TrySetResult();
        }
    }

    private void Recognize(ExchangeCapture capture)
    {
        var head = capture.Request;
        foreach (var expectation in _expected)
        {
            if (expectation.TryTake(head))
            {
                capture.ReplayOf = expectation.Source;
                capture.Via = "tunnel";
                capture.Expectation = expectation;
                return;
            }
        }
    }

    private bool TryMakeRoomUnsynchronized(int bytes, ExchangeCapture? except)
    {
        for (var id = _firstId; _bytes + bytes > _limits.Bytes; id++)
        {
            if (id > _lastId)
            {
                return false;
            }

            if (_ring[id % _ring.Length] is { } oldest && oldest.Id == id && oldest != except)
            {
                DropUnsynchronized(oldest);
            }
        }

        return true;
    }

    private void ClearUnsynchronized()
    {
        foreach (var capture in _ring)
        {
            if (capture is not null)
            {
                DropUnsynchronized(capture);
            }
        }
    }

    private void DropUnsynchronized(ExchangeCapture capture)
    {
        capture.Drop();
        _bytes -= capture.Held;
        capture.Held = 0;
        _dropped++;
        _ring[capture.Id % _ring.Length] = null;
        while (_firstId <= _lastId && !IsThereUnsynchronized(_firstId))
        {
            _firstId++;
        }
    }

    private bool IsThereUnsynchronized(long id) => _ring[id % _ring.Length] is { } capture && capture.Id == id;
}
