using System.Globalization;

namespace Tunnel2.LoadTests.Statistics;

/// <summary>Failures by kind and, of wrong answers, by status. Not thread-safe.</summary>
internal sealed class FailureCounts
{
    private const int MaxSamples = 5;
    private const int MaxDetails = 64;

    private readonly long[] _byKind = new long[Enum.GetValues<FailureKind>().Length];
    private readonly SortedDictionary<string, long> _details = new(StringComparer.Ordinal);
    private readonly List<string> _samples = [];

    /// <summary>All.</summary>
    public long Total { get; private set; }

    /// <summary>Of one kind.</summary>
    public long this[FailureKind kind] => _byKind[(int)kind];

    /// <summary>The kinds that happened.</summary>
    public IReadOnlyDictionary<string, long> ByKind => Enum.GetValues<FailureKind>()
        .Where(kind => _byKind[(int)kind] > 0)
        .ToDictionary(static kind => kind.ToString(), kind => _byKind[(int)kind]);

    /// <summary>What was said with it (a status and the tunnel's own error code, an errno), and how often.</summary>
    public IReadOnlyDictionary<string, long> Details => _details;

    /// <summary>The first few, in words.</summary>
    public IReadOnlyList<string> Samples => _samples;

    /// <summary>Counts one.</summary>
    /// <param name="kind">Its kind.</param>
    /// <param name="detail">What is known beyond it; empty: nothing.</param>
    /// <param name="second">When it was due, in seconds from the start.</param>
    public void Add(FailureKind kind, string detail, double second)
    {
        Total++;
        _byKind[(int)kind]++;
        if (detail.Length > 0 && (_details.ContainsKey(detail) || _details.Count < MaxDetails))
        {
            _details[detail] = _details.GetValueOrDefault(detail) + 1;
        }

        if (_samples.Count < MaxSamples)
        {
            _samples.Add(
                string.Create(CultureInfo.InvariantCulture, $"at {second:0.000} s: {kind}{(detail.Length > 0 ? $" ({detail})" : "")}"));
        }
    }

    /// <summary>Adds another's.</summary>
    public void Add(FailureCounts other)
    {
        Total += other.Total;
        for (var i = 0; i < _byKind.Length; i++)
        {
            _byKind[i] += other._byKind[i];
        }

        foreach (var (detail, count) in other._details)
        {
            _details[detail] = _details.GetValueOrDefault(detail) + count;
        }

        _samples.AddRange(other._samples.Take(MaxSamples - _samples.Count));
    }
}
