using System.Collections.Immutable;

namespace Tunnel2.Telemetry.Tests.MessageStore;

/// <summary>Compares what one subscriber saw with the whole history of every key.</summary>
internal static class JoinChecker
{
    /// <summary>Finds the first way in which snapshot and live messages do not add up.</summary>
    /// <param name="history">Per key every message in the order in which they became the latest; a message occurs once.</param>
    /// <param name="positions">The index of every message in its key's history.</param>
    /// <param name="snapshot">What the subscriber was given when it joined.</param>
    /// <param name="live">What it was given afterwards, in order.</param>
    /// <param name="untilTheEnd">Whether it stayed; one that left has seen a beginning of what followed its snapshot.</param>
    /// <returns><see langword="null"/> when all is well.</returns>
    public static string? Check(
        IReadOnlyDictionary<string, List<long>> history,
        IReadOnlyDictionary<(string Key, long Value), int> positions,
        ImmutableArray<KeyValuePair<string, long>> snapshot,
        IReadOnlyList<(string Key, long Value)> live,
        bool untilTheEnd)
    {
        var next = history.ToDictionary(entry => entry.Key, _ => 0);
        foreach ((string key, long value) in snapshot)
        {
            if (!positions.TryGetValue((key, value), out int position))
            {
                return $"The snapshot of {key} has {value}, which was never published.";
            }

            next[key] = position + 1;
        }

        foreach ((string key, long value) in live)
        {
            int position = next[key];
            List<long> messages = history[key];
            if (position >= messages.Count || messages[position] != value)
            {
                int actual = positions.GetValueOrDefault((key, value), -1);
                return $"{key}: message {actual} came where {position} was due ({(actual < position ? "repeated" : "lost before it")}).";
            }

            next[key] = position + 1;
        }

        foreach ((string key, int position) in next)
        {
            if (untilTheEnd && position != history[key].Count)
            {
                return $"{key}: {history[key].Count - position} messages lost at the end.";
            }
        }

        return null;
    }
}
