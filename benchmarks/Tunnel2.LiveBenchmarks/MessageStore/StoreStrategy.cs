using Tunnel2.Laboratory.MessageStore;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>The strategies by the names under which the tables list them.</summary>
internal static class StoreStrategy
{
    public const string Chosen = "striped";

    /// <summary>The chosen strategy once more: how far its two rows differ is how far this run can be trusted.</summary>
    public const string ChosenAgain = "striped (A/A)";

    public const string Baseline = "dictionary + lock";

    public static IReadOnlyList<string> Raced { get; } =
        [Baseline, "ConcurrentDictionary set", "ConcurrentDictionary AddOrUpdate", "ReaderWriterLockSlim", Chosen, ChosenAgain];

    public static IMessageStore<int> Create(string name, int capacity) => name switch
    {
        Baseline => new LockedMessageStore<int>(capacity),
        "ConcurrentDictionary set" => new ConcurrentSetMessageStore<int>(capacity),
        "ConcurrentDictionary AddOrUpdate" => new ConcurrentUpdateMessageStore<int>(capacity),
        "ReaderWriterLockSlim" => new ReaderWriterLockMessageStore<int>(capacity),
        Chosen or ChosenAgain => new StripedMessageStore<int>(capacity),
        "striped-1" => new StripedMessageStore<int>(capacity, stripes: 1),
        "striped-2" => new StripedMessageStore<int>(capacity, stripes: 2),
        "striped-4" => new StripedMessageStore<int>(capacity, stripes: 4),
        "striped-8" => new StripedMessageStore<int>(capacity, stripes: 8),
        _ => throw new ArgumentOutOfRangeException(nameof(name), name, "No such strategy."),
    };

    /// <summary>Whether a name is one that <see cref="Create"/> knows.</summary>
    public static bool IsKnown(string name) =>
        Raced.Contains(name) || name is "striped-1" or "striped-2" or "striped-4" or "striped-8";
}
