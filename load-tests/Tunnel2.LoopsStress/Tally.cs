using System.Collections.Concurrent;

namespace Tunnel2.LoopsStress;

/// <summary>What became of everything. Thread-safe.</summary>
internal sealed class Tally
{
    private const int MostWrongs = 10;

    private readonly ConcurrentDictionary<string, long> _counts = new(StringComparer.Ordinal);
    private readonly ConcurrentQueue<string> _wrongs = new();

    /// <summary>What must not be: a wrong answer, or none at all.</summary>
    public IReadOnlyCollection<string> Wrongs => _wrongs;

    /// <summary>An answer was right.</summary>
    public void Right(string kind) => Count($"{kind}: right");

    /// <summary>A request got no whole answer, for a reason that a peer can have.</summary>
    public void Failed(string kind, string how) => Count($"{kind}: {how}");

    /// <summary>Something that must not be.</summary>
    public void Wrong(string what)
    {
        Count("WRONG");
        if (_wrongs.Count < MostWrongs)
        {
            _wrongs.Enqueue(what);
        }
    }

    /// <summary>How many answers of a kind were right.</summary>
    public long RightOnes(string kind) => _counts.GetValueOrDefault($"{kind}: right");

    /// <summary>Counts anything else.</summary>
    public void Count(string what) => _counts.AddOrUpdate(what, 1, static (_, count) => count + 1);

    /// <inheritdoc/>
    public override string ToString() =>
        string.Join(
            '\n',
            _counts.OrderBy(static pair => pair.Key, StringComparer.Ordinal).Select(static pair => $"  {pair.Value,9:N0}  {pair.Key}"));
}
