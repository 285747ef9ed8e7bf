using Tunnel2.Policies.Tables;

namespace Tunnel2.ProxyEntry.Policies;

/// <summary>By what a request is counted: the row, and an address or a digest of a field's value.</summary>
/// <param name="Table">The number of the table among those that the session has had.</param>
/// <param name="Row">The row's number.</param>
/// <param name="IsOfField">Whether it is the digest.</param>
/// <param name="Upper">The upper half.</param>
/// <param name="Lower">The lower half.</param>
internal readonly record struct PolicyRateId(int Table, int Row, bool IsOfField, ulong Upper, ulong Lower);

/// <summary>
/// What is left of the rates of a session's rows: buckets, of which the oldest of a row makes room for a new one of that row, so that
/// nobody empties another row's. Addresses and values of fields are apart too. There is no timer: a bucket gets what it has earned when it
/// is asked. Thread-safe.
/// </summary>
internal sealed class PolicyRates
{
    /// <summary>How many buckets a row has at most, of addresses and of values.</summary>
    public const int MaxBuckets = 4_096;

    /// <summary>How many buckets a session has at most. Then the row with the most makes room.</summary>
    public const int MaxOfSession = 4 * MaxBuckets;

    /// <summary>Tolerance for rounding between ticks and fractions of a request.</summary>
    private const double Rounding = 1e-6;

    private readonly Lock _gate = new();
    private readonly Dictionary<PolicyRateId, Bucket> _buckets = [];
    private readonly Dictionary<(int Table, int Row, bool IsOfField), Queue<PolicyRateId>> _orders = [];
    private int _tables;

    /// <summary>How many buckets there are now.</summary>
    public int Count
    {
        get
        {
            lock (_gate)
            {
                return _buckets.Count;
            }
        }
    }

    /// <summary>A number for a table that is new to the session. Buckets of a table that is gone make room in their turn.</summary>
    public int NextTable() => Interlocked.Increment(ref _tables);

    /// <summary>Takes a request from a bucket.</summary>
    /// <param name="id">The bucket.</param>
    /// <param name="rate">What it earns, and how much it holds.</param>
    /// <param name="time">The clock.</param>
    /// <param name="wait">How long until there is another, when there is none left.</param>
    public bool TryTake(PolicyRateId id, PolicyRate rate, TimeProvider time, out TimeSpan wait)
    {
        wait = TimeSpan.Zero;
        lock (_gate)
        {
            var now = time.GetTimestamp();
            var isKnown = _buckets.TryGetValue(id, out var bucket);
            var left = isKnown
                ? Math.Min(rate.Burst, bucket.Left + (time.GetElapsedTime(bucket.At, now).TotalSeconds * rate.PerSecond))
                : rate.Burst;
            if (left < 1 - Rounding)
            {
                wait = TimeSpan.FromSeconds((1 - left) / rate.PerSecond);
                return false;
            }

            if (!isKnown)
            {
                MakeRoomUnsynchronized(id).Enqueue(id);
            }

            _buckets[id] = new Bucket(left - 1, now);
            return true;
        }
    }

    private Queue<PolicyRateId> MakeRoomUnsynchronized(PolicyRateId id)
    {
        if (!_orders.TryGetValue((id.Table, id.Row, id.IsOfField), out var order))
        {
            _orders[(id.Table, id.Row, id.IsOfField)] = order = new Queue<PolicyRateId>();
        }

        if (order.Count >= MaxBuckets)
        {
            _buckets.Remove(order.Dequeue());
        }
        else if (_buckets.Count >= MaxOfSession)
        {
            var (key, most) = _orders.MaxBy(static one => one.Value.Count);
            _buckets.Remove(most.Dequeue());
            if (most.Count == 0 && most != order)
            {
                _orders.Remove(key);
            }
        }

        return order;
    }

    private readonly record struct Bucket(double Left, long At);
}
