namespace Tunnel2.ProxyEntry.Access.Webhooks;

/// <summary>
/// Signatures that were right a short while ago and may not come again. Bounded: the oldest makes room. Only a right signature is kept, so
/// no caller without a secret fills it. Not thread-safe.
/// </summary>
internal sealed class WebhookReplays
{
    /// <summary>How many are remembered at most.</summary>
    public const int Most = 10_000;

    private readonly HashSet<(ulong A, ulong B)> _known = [];
    private readonly Queue<((ulong A, ulong B) Key, DateTimeOffset At)> _order = new();

    /// <summary>How many are remembered now.</summary>
    public int Count => _known.Count;

    /// <summary>When the last one came.</summary>
    public DateTimeOffset Newest { get; private set; }

    /// <summary>Whether none of them would be taken any more.</summary>
    public bool IsStale(DateTimeOffset now) => IsStale(Newest, now);

    /// <summary>Keeps a signature.</summary>
    /// <returns>False when it came before.</returns>
    public bool TryAdd(ReadOnlySpan<byte> claim, DateTimeOffset now)
    {
        var key = (BitConverter.ToUInt64(claim), BitConverter.ToUInt64(claim[8..]));
        while (_order.TryPeek(out var oldest) && IsStale(oldest.At, now))
        {
            _known.Remove(_order.Dequeue().Key);
        }

        if (!_known.Add(key))
        {
            return false;
        }

        if (_order.Count == Most)
        {
            _known.Remove(_order.Dequeue().Key);
        }

        _order.Enqueue((key, now));
        Newest = now;
        return true;
    }

    /// <summary>A signature is taken for as long before its time as after it.</summary>
    private static bool IsStale(DateTimeOffset at, DateTimeOffset now) => now - at > 2 * WebhookVerifier.Tolerance;
}
