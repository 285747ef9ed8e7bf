using System.Net;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>
/// How many failed attempts each address has left: a bucket that each failure takes one from, and that time fills again. IPv6 counts by
/// /64, which usually belongs to one customer. The table is bounded; full buckets are forgotten first. Thread-safe.
/// </summary>
internal sealed class FailedAttempts
{
    /// <summary>How many addresses are remembered at most.</summary>
    public const int MaxAddresses = 10_000;

    /// <summary>Tolerance for rounding between ticks and fractions of an attempt.</summary>
    private const double Rounding = 1e-6;

    private readonly Lock _gate = new();
    private readonly Dictionary<AddressKey, Bucket> _buckets = [];
    private readonly Queue<AddressKey> _order = new();
    private readonly TimeProvider _timeProvider;
    private readonly int _perMinute;

    public FailedAttempts(ProxyEntrySettings settings, TimeProvider timeProvider)
    {
        _perMinute = settings.FailuresPerMinute;
        _timeProvider = timeProvider;
    }

    /// <summary>Addresses remembered now.</summary>
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

    /// <summary>Whether an address may try now. The attempt itself is not checked, so the answer shows nothing about it.</summary>
    /// <param name="address">The address; null is never limited.</param>
    /// <param name="wait">How long to wait otherwise.</param>
    public bool MayTry(IPAddress? address, out TimeSpan wait)
    {
        wait = TimeSpan.Zero;
        if (_perMinute == 0 || address is null)
        {
            return true;
        }

        lock (_gate)
        {
            if (!_buckets.TryGetValue(AddressKey.Of(address), out var bucket))
            {
                return true;
            }

            var left = LeftUnsynchronized(bucket);
            var mayTry = left >= 1 - Rounding;

            // Rounded up: after this wait the address may try.
            wait = mayTry ? TimeSpan.Zero : TimeSpan.FromMilliseconds(Math.Ceiling((1 - left) / _perMinute * 60_000));
            return mayTry;
        }
    }

    /// <summary>An attempt from an address failed.</summary>
    public void Note(IPAddress? address)
    {
        if (_perMinute == 0 || address is null)
        {
            return;
        }

        var key = AddressKey.Of(address);
        lock (_gate)
        {
            var now = _timeProvider.GetTimestamp();
            if (_buckets.TryGetValue(key, out var bucket))
            {
                _buckets[key] = new Bucket(Math.Max(0, LeftUnsynchronized(bucket) - 1), now);
                return;
            }

            ForgetUnsynchronized();
            _buckets[key] = new Bucket(_perMinute - 1, now);
            _order.Enqueue(key);
        }
    }

    /// <summary>
    /// Removes full buckets, the oldest first; if there are none, the oldest bucket, so an attacker with many addresses gains nothing else.
    /// </summary>
    private void ForgetUnsynchronized()
    {
        while (_order.TryPeek(out var oldest) && (_buckets.Count >= MaxAddresses || LeftUnsynchronized(_buckets[oldest]) >= _perMinute))
        {
            _order.Dequeue();
            _buckets.Remove(oldest);
        }
    }

    private double LeftUnsynchronized(Bucket bucket) =>
        Math.Min(_perMinute, bucket.Left + (_timeProvider.GetElapsedTime(bucket.At).TotalMinutes * _perMinute));

    private readonly record struct Bucket(double Left, long At);
}
