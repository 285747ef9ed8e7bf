using System.Runtime.InteropServices;
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
/// no row empties another row's. Addresses and values of fields are apart too. A visitor chooses the value of a field: so an address has
/// only some values of its own at a time, and is counted by itself beyond them. There is no timer: a bucket gets what it has earned when it
/// is asked. Thread-safe.
/// </summary>
internal sealed class PolicyRates
{
    /// <summary>How many buckets a row has at most, of addresses and of values.</summary>
    public const int MaxBuckets = 4_096;

    /// <summary>How many buckets a session has at most. Then the row with the most makes room.</summary>
    public const int MaxOfSession = 4 * MaxBuckets;

    /// <summary>How many values of a field a row counts apart that came first from one address, until some have earned all back.</summary>
    public const int MaxValuesOfAddress = 100;

    /// <summary>Tolerance for rounding between ticks and fractions of a request.</summary>
    private const double Rounding = 1e-6;

    private readonly Lock _gate = new();
    private readonly Dictionary<PolicyRateId, Bucket> _buckets = [];
    private readonly Dictionary<(int Table, int Row, bool IsOfField), LinkedList<PolicyRateId>> _orders = [];
    private readonly Dictionary<PolicyRateId, Queue<PolicyRateId>> _values = [];
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
    public bool TryTake(PolicyRateId id, PolicyRate rate, TimeProvider time, out TimeSpan wait) => TryTake(id, id, rate, time, out wait);

    /// <summary>The same for the value of a field.</summary>
    /// <param name="id">The bucket of the value.</param>
    /// <param name="address">That of the address from which it came, which counts where the address has too many values.</param>
    /// <param name="rate">What it earns, and how much it holds.</param>
    /// <param name="time">The clock.</param>
    /// <param name="wait">How long until there is another, when there is none left.</param>
    public bool TryTake(PolicyRateId id, PolicyRateId address, PolicyRate rate, TimeProvider time, out TimeSpan wait)
    {
        wait = TimeSpan.Zero;
        lock (_gate)
        {
            var now = time.GetTimestamp();
            var isKnown = _buckets.TryGetValue(id, out var bucket);
            if (!isKnown && id != address && !HasRoomUnsynchronized(address, rate, time, now))
            {
                id = address;
                isKnown = _buckets.TryGetValue(id, out bucket);
            }

            var left = isKnown ? LeftOf(bucket, rate, time, now) : rate.Burst;
            if (left < 1 - Rounding)
            {
                wait = TimeSpan.FromSeconds((1 - left) / rate.PerSecond);
                return false;
            }

            var place = isKnown ? bucket.Place : AddUnsynchronized(id, address);
            _buckets[id] = new Bucket(left - 1, now, place, isKnown ? bucket.Address : address);
            return true;
        }
    }

    private static double LeftOf(in Bucket bucket, PolicyRate rate, TimeProvider time, long now) =>
        Math.Min(rate.Burst, bucket.Left + (time.GetElapsedTime(bucket.At, now).TotalSeconds * rate.PerSecond));

    /// <summary>Whether an address may have one more value. A value whose bucket is full again is forgotten for it.</summary>
    private bool HasRoomUnsynchronized(PolicyRateId address, PolicyRate rate, TimeProvider time, long now)
    {
        if (!_values.TryGetValue(address, out var values) || values.Count < MaxValuesOfAddress)
        {
            return true;
        }

        // One look for each request, at another value each time.
        var oldest = values.Dequeue();
        if (LeftOf(_buckets[oldest], rate, time, now) >= rate.Burst - Rounding)
        {
            values.Enqueue(oldest);
            RemoveUnsynchronized(oldest);
            return true;
        }

        values.Enqueue(oldest);
        return false;
    }

    private LinkedListNode<PolicyRateId> AddUnsynchronized(PolicyRateId id, PolicyRateId address)
    {
        var order = MakeRoomUnsynchronized(id);
        if (id != address)
        {
            ref var values = ref CollectionsMarshal.GetValueRefOrAddDefault(_values, address, out _);
            (values ??= new Queue<PolicyRateId>()).Enqueue(id);
        }

        return order.AddLast(id);
    }

    private LinkedList<PolicyRateId> MakeRoomUnsynchronized(PolicyRateId id)
    {
        if (_orders.GetValueOrDefault((id.Table, id.Row, id.IsOfField)) is { Count: >= MaxBuckets } full)
        {
            RemoveUnsynchronized(full.First!.Value);
        }
        else if (_buckets.Count >= MaxOfSession)
        {
            RemoveUnsynchronized(_orders.MaxBy(static one => one.Value.Count).Value.First!.Value);
        }

        ref var order = ref CollectionsMarshal.GetValueRefOrAddDefault(_orders, (id.Table, id.Row, id.IsOfField), out _);
        return order ??= new LinkedList<PolicyRateId>();
    }

    private void RemoveUnsynchronized(PolicyRateId id)
    {
        if (!_buckets.Remove(id, out var bucket))
        {
            return;
        }

        var order = bucket.Place.List!;
        order.Remove(bucket.Place);
        if (order.Count == 0)
        {
            _orders.Remove((id.Table, id.Row, id.IsOfField));
        }

        if (bucket.Address != id && _values.TryGetValue(bucket.Address, out var values))
        {
            // At most as many as an address may have.
            for (var i = values.Count; i > 0; i--)
            {
                if (values.Dequeue() is var other && other != id)
                {
                    values.Enqueue(other);
                }
            }

            if (values.Count == 0)
            {
                _values.Remove(bucket.Address);
            }
        }
    }

    /// <param name="Left">How many requests were left.</param>
    /// <param name="At">When, a timestamp.</param>
    /// <param name="Place">Its place among those of the row.</param>
    /// <param name="Address">The address from which the value of a field came first; otherwise itself.</param>
    private readonly record struct Bucket(double Left, long At, LinkedListNode<PolicyRateId> Place, PolicyRateId Address);
}
