namespace Tunnel2.ProxyEntry.Access.Webhooks;

/// <summary>
/// Signatures that may not come again, for each owner of tunnels and each rule. All names of an owner and all agents of a pool remember the
/// same ones, also after they have connected again. Bounded: the memory that has got none for the longest time makes room. Thread-safe.
/// </summary>
internal sealed class WebhookMemories
{
    /// <summary>How many memories there are at most.</summary>
    public const int Most = 1_000;

    private readonly Lock _gate = new();
    private readonly Dictionary<WebhookMemoryKey, WebhookReplays> _memories = [];

    /// <summary>How many memories there are now.</summary>
    public int Count
    {
        get
        {
            lock (_gate)
            {
                return _memories.Count;
            }
        }
    }

    /// <summary>Keeps a signature.</summary>
    /// <returns>False when it came before.</returns>
    public bool TryAdd(in WebhookMemoryKey key, ReadOnlySpan<byte> claim, DateTimeOffset now)
    {
        lock (_gate)
        {
            if (!_memories.TryGetValue(key, out var memory))
            {
                MakeRoomUnsynchronized(now);
                _memories.Add(key, memory = new WebhookReplays());
            }

            return memory.TryAdd(claim, now);
        }
    }

    private void MakeRoomUnsynchronized(DateTimeOffset now)
    {
        if (_memories.Count < Most)
        {
            return;
        }

        var quietest = default(KeyValuePair<WebhookMemoryKey, WebhookReplays>);
        foreach (var one in _memories)
        {
            if (one.Value.IsStale(now))
            {
                _memories.Remove(one.Key);
            }
            else if (quietest.Value is null || one.Value.Newest < quietest.Value.Newest)
            {
                quietest = one;
            }
        }

        if (_memories.Count >= Most)
        {
            _memories.Remove(quietest.Key);
        }
    }
}
