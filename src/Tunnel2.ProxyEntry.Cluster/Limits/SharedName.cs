using Tunnel2.ProxyEntry.RateLimits;

namespace Tunnel2.ProxyEntry.Cluster.Limits;

/// <summary>A name of this node whose limit other nodes may spend of too. Not thread-safe, except for <see cref="LookNow"/>.</summary>
internal sealed class SharedName
{
    private readonly List<Bucket> _buckets = [];
    private readonly Action _wake;
    private int _mustLook = 1;
    private int _isPressed;

    /// <param name="name">The name.</param>
    /// <param name="group">What its sessions have in common.</param>
    /// <param name="limit">The limit of its sessions.</param>
    /// <param name="now">The moment.</param>
    /// <param name="wake">Called when requests begin to be refused.</param>
    public SharedName(string name, byte[] group, SessionRateLimit limit, TimeSpan now, Action wake)
    {
        Name = name;
        Group = group;
        Limit = new NameLimit(limit.Tier.RequestsPerSecond, now);
        _wake = wake;
    }

    /// <summary>The name.</summary>
    public string Name { get; }

    /// <summary>What its sessions have in common.</summary>
    public byte[] Group { get; set; }

    /// <summary>What this node may spend.</summary>
    public NameLimit Limit { get; }

    /// <summary>The last look at the sessions of this node that found it.</summary>
    public int Seen { get; set; }

    /// <summary>The next report is due at once: sessions of other nodes have come or gone.</summary>
    public void LookNow() => Volatile.Write(ref _mustLook, 1);

    /// <summary>The name is limited by this bucket, maybe beside others: sessions of a pool have one, and others have their own.</summary>
    public void Add(SessionRateLimit limit)
    {
        foreach (var bucket in _buckets)
        {
            if (bucket.Limit == limit)
            {
                bucket.Seen = Seen;
                return;
            }
        }

        Limit.PerSecond = limit.Tier.RequestsPerSecond;
        _buckets.Add(new Bucket(limit) { Seen = Seen });
        limit.Set(Limit.Share, Press);
    }

    /// <summary>Counts what has come.</summary>
    public void Count(TimeSpan now)
    {
        var (asked, refused) = (0L, 0L);
        for (var i = _buckets.Count - 1; i >= 0; i--)
        {
            var (moreAsked, moreRefused) = _buckets[i].Count();
            (asked, refused) = (asked + moreAsked, refused + moreRefused);
            if (_buckets[i].Seen != Seen)
            {
                _buckets.RemoveAt(i);
            }
        }

        if (refused == 0)
        {
            Volatile.Write(ref _isPressed, 0);
        }

        Limit.Count(now, asked, refused);
        if (Interlocked.Exchange(ref _mustLook, 0) != 0)
        {
            Limit.LookNow();
        }
    }

    /// <summary>The share holds for requests from now on.</summary>
    public void Apply()
    {
        foreach (var bucket in _buckets)
        {
            bucket.Limit.Set(Limit.Share, Press);
        }
    }

    /// <summary>No session of this node shares the name any more. What one that has it for itself has taken over is whole again.</summary>
    public void Release()
    {
        foreach (var bucket in _buckets)
        {
            bucket.Limit.Set(1, null);
        }
    }

    /// <summary>A request was refused. The first one is news.</summary>
    private void Press()
    {
        if (Volatile.Read(ref _isPressed) == 0 && Interlocked.Exchange(ref _isPressed, 1) == 0)
        {
            _wake();
        }
    }

    private sealed class Bucket(SessionRateLimit limit)
    {
        private long _asked = limit.Asked;
        private long _refused = limit.Refused;

        public SessionRateLimit Limit { get; } = limit;

        public int Seen { get; set; }

        public (long Asked, long Refused) Count()
        {
            var (asked, refused) = (Limit.Asked, Limit.Refused);
            var more = (asked - _asked, refused - _refused);
            (_asked, _refused) = (asked, refused);
            return more;
        }
    }
}
