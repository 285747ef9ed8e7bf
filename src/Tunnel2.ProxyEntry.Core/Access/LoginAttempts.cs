using System.Net;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Access;

/// <summary>What a session has left of wrong logins. <see cref="LoginAttempts"/> guards it.</summary>
internal sealed class LoginBudget
{
    /// <summary>The bucket; null: it is full.</summary>
    internal LoginBucket? Bucket { get; set; }
}

/// <summary>A bucket: how many attempts were left, and when.</summary>
internal readonly record struct LoginBucket(double Left, long At);

/// <summary>
/// How many wrong logins each address and each session have left. An attempt is taken before the slow hash and given back when the login
/// was right, so that many at once gain nothing. IPv6 counts by /64. The table is bounded: the oldest address makes room. Thread-safe.
/// </summary>
internal sealed class LoginAttempts
{
    /// <summary>How many addresses are remembered at most.</summary>
    public const int MaxAddresses = 10_000;

    /// <summary>How many times as many a session may get from all addresses together.</summary>
    private const int SessionFactor = 10;

    /// <summary>Tolerance for rounding between ticks and fractions of an attempt.</summary>
    private const double Rounding = 1e-6;

    private readonly Lock _gate = new();
    private readonly Dictionary<AddressKey, LoginBucket> _addresses = [];
    private readonly Queue<AddressKey> _order = new();
    private readonly TimeProvider _timeProvider;
    private readonly int _perMinute;

    public LoginAttempts(ProxyEntrySettings settings, TimeProvider timeProvider)
    {
        _perMinute = settings.LoginFailuresPerMinute;
        _timeProvider = timeProvider;
    }

    /// <summary>Addresses remembered now.</summary>
    public int Count
    {
        get
        {
            lock (_gate)
            {
                return _addresses.Count;
            }
        }
    }

    /// <summary>Takes an attempt.</summary>
    /// <param name="address">The visitor's address; null, if it is not known, counts to the session only.</param>
    /// <param name="session">The session's budget.</param>
    /// <param name="wait">How long to wait, if there is none left.</param>
    public bool TryTake(IPAddress? address, LoginBudget session, out TimeSpan wait)
    {
        wait = TimeSpan.Zero;
        if (_perMinute == 0)
        {
            return true;
        }

        lock (_gate)
        {
            var now = _timeProvider.GetTimestamp();
            var key = address is null ? default : AddressKey.Of(address);
            var ofAddress = address is null ? _perMinute : LeftUnsynchronized(FindUnsynchronized(key), _perMinute, now);
            var ofSession = LeftUnsynchronized(session.Bucket, _perMinute * SessionFactor, now);
            if (ofAddress < 1 - Rounding || ofSession < 1 - Rounding)
            {
                var minutes = Math.Max((1 - ofAddress) / _perMinute, (1 - ofSession) / (_perMinute * SessionFactor));
                wait = TimeSpan.FromMilliseconds(Math.Ceiling(minutes * 60_000));
                return false;
            }

            session.Bucket = new LoginBucket(ofSession - 1, now);
            if (address is not null)
            {
                SetUnsynchronized(key, new LoginBucket(ofAddress - 1, now));
            }

            return true;
        }
    }

    /// <summary>The login was right, or was not checked.</summary>
    public void Return(IPAddress? address, LoginBudget session)
    {
        if (_perMinute == 0)
        {
            return;
        }

        lock (_gate)
        {
            var now = _timeProvider.GetTimestamp();
            session.Bucket = new LoginBucket(LeftUnsynchronized(session.Bucket, _perMinute * SessionFactor, now) + 1, now);
            if (address is not null && AddressKey.Of(address) is var key && FindUnsynchronized(key) is { } bucket)
            {
                _addresses[key] = new LoginBucket(LeftUnsynchronized(bucket, _perMinute, now) + 1, now);
            }
        }
    }

    private LoginBucket? FindUnsynchronized(AddressKey key) => _addresses.TryGetValue(key, out var bucket) ? bucket : null;

    private void SetUnsynchronized(AddressKey key, LoginBucket bucket)
    {
        if (!_addresses.ContainsKey(key))
        {
            while (_order.TryPeek(out var oldest)
                && (_addresses.Count >= MaxAddresses || LeftUnsynchronized(_addresses[oldest], _perMinute, bucket.At) >= _perMinute))
            {
                _order.Dequeue();
                _addresses.Remove(oldest);
            }

            _order.Enqueue(key);
        }

        _addresses[key] = bucket;
    }

    private double LeftUnsynchronized(LoginBucket? bucket, int most, long now) => bucket is { } known
        ? Math.Min(most, known.Left + (_timeProvider.GetElapsedTime(known.At, now).TotalMinutes * most))
        : most;
}
