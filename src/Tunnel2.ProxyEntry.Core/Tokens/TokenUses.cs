using System.Collections.Concurrent;

namespace Tunnel2.ProxyEntry.Tokens;

/// <summary>
/// When an agent was last let in by each token that the server keeps: a number in memory for each token, which the handshake sets without
/// waiting. The owner of the tokens writes them down now and then. Thread-safe.
/// </summary>
internal sealed class TokenUses(TimeProvider time)
{
    private readonly ConcurrentDictionary<string, long> _last = new(StringComparer.Ordinal);
    private int _hasNew;

    /// <summary>An agent was let in by a token that exists.</summary>
    public void Note(string token)
    {
        _last[token] = time.GetUtcNow().UtcTicks;
        Volatile.Write(ref _hasNew, 1);
    }

    /// <summary>When it was last; null: not yet.</summary>
    public DateTimeOffset? Find(string token) =>
        _last.TryGetValue(token, out var ticks) ? new DateTimeOffset(ticks, TimeSpan.Zero) : null;

    /// <summary>What was written down before this process began.</summary>
    public void Restore(IEnumerable<KeyValuePair<string, DateTimeOffset>> uses)
    {
        foreach (var (token, moment) in uses)
        {
            _last.TryAdd(token, moment.UtcTicks);
        }
    }

    /// <summary>A token was used at another node.</summary>
    public void Merge(string token, DateTimeOffset moment)
    {
        // Not noted as new: the other node writes it down.
        _last.AddOrUpdate(token, static (_, ticks) => ticks, static (_, known, ticks) => Math.Max(known, ticks), moment.UtcTicks);
    }

    /// <summary>A token is gone: another one of its name begins anew.</summary>
    public void Forget(string token) => _last.TryRemove(token, out _);

    /// <summary>All, if there was a use since the last call; otherwise null.</summary>
    public IReadOnlyList<KeyValuePair<string, DateTimeOffset>>? TakeNew() => Interlocked.Exchange(ref _hasNew, 0) == 0
        ? null
        : [.. _last.Select(static one => KeyValuePair.Create(one.Key, new DateTimeOffset(one.Value, TimeSpan.Zero)))];

    /// <summary>What was taken could not be written: the next call gives all again.</summary>
    public void PutBack() => Volatile.Write(ref _hasNew, 1);
}
