namespace Tunnel2.ProxyEntry.RateLimits;

/// <summary>
/// A token bucket whose rate may change while it is used. It has no timer and no lock: its state is the moment at which it is full again,
/// and a token moves that moment. Thread-safe; only one caller at a time may change the pace.
/// </summary>
internal sealed class TokenBucket
{
    private readonly long _frequency;
    private Pace _pace;
    private long _fullAt;

    /// <param name="frequency">Timestamps in a second.</param>
    /// <param name="now">A timestamp.</param>
    /// <param name="rate">Tokens a second.</param>
    /// <param name="size">What it holds, at least one token. It is full at first.</param>
    public TokenBucket(long frequency, long now, double rate, double size)
    {
        _frequency = frequency;
        _pace = Pace.Of(frequency, rate, size);
        _fullAt = now;
    }

    /// <summary>Takes a token.</summary>
    /// <param name="now">A timestamp.</param>
    /// <returns>False when there is none.</returns>
    public bool TryTake(long now)
    {
        var pace = Volatile.Read(ref _pace);
        var fullAt = Volatile.Read(ref _fullAt);
        while (true)
        {
            var next = Math.Max(fullAt, now) + pace.Token;
            if (next - now > pace.Depth)
            {
                return false;
            }

            var seen = Interlocked.CompareExchange(ref _fullAt, next, fullAt);
            if (seen == fullAt)
            {
                return true;
            }

            fullAt = seen;
        }
    }

    /// <summary>The tokens that are there.</summary>
    /// <param name="now">A timestamp.</param>
    public double Left(long now)
    {
        var pace = Volatile.Read(ref _pace);
        return pace.Left(Volatile.Read(ref _fullAt), now);
    }

    /// <summary>
    /// Changes rate and size. Tokens stay, except for those that a smaller bucket cannot hold; a larger one is not filled.
    /// </summary>
    /// <param name="now">A timestamp.</param>
    /// <param name="rate">Tokens a second.</param>
    /// <param name="size">What it holds, at least one token.</param>
    public void Change(long now, double rate, double size)
    {
        var (before, after) = (Volatile.Read(ref _pace), Pace.Of(_frequency, rate, size));
        var fullAt = Volatile.Read(ref _fullAt);
        while (true)
        {
            var missing = after.Size - Math.Min(after.Size, before.Left(fullAt, now));
            var seen = Interlocked.CompareExchange(ref _fullAt, now + (long)(missing * after.Token), fullAt);
            if (seen == fullAt)
            {
                // A request that still sees the pace from before may get or miss one token.
                Volatile.Write(ref _pace, after);
                return;
            }

            fullAt = seen;
        }
    }

    /// <summary>How fast tokens come. Immutable, so that a request sees one pace.</summary>
    /// <param name="Token">The time in which a token is earned.</param>
    /// <param name="Depth">The time in which an empty bucket fills.</param>
    /// <param name="Size">The tokens of a full bucket.</param>
    private sealed record Pace(long Token, long Depth, double Size)
    {
        public static Pace Of(long frequency, double rate, double size)
        {
            var token = Math.Max(1, (long)Math.Round(frequency / rate));
            return new Pace(token, (long)(token * size), size);
        }

        public double Left(long fullAt, long now) => Math.Max(0, Size - ((double)Math.Max(0, fullAt - now) / Token));
    }
}
