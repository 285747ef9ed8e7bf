using System.Globalization;
using Tunnel2.Laboratory.MessageStore;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>The strategies by the names under which the tables list them. A striped store's name has its number of stripes.</summary>
internal static class StoreStrategy
{
    public const string Baseline = "dictionary + lock";

    public const string ConcurrentSet = "ConcurrentDictionary set";

    public const string ConcurrentUpdate = "ConcurrentDictionary AddOrUpdate";

    public const string ReaderWriterLock = "ReaderWriterLockSlim";

    private const string Striped = "striped-";

    /// <summary>The striped store with as many stripes as it gives itself on this machine.</summary>
    public static string Chosen { get; } = Striped + StripedMessageStore<int>.DefaultStripes.ToString(CultureInfo.InvariantCulture);

    /// <summary>The chosen strategy once more: how far its two rows differ is how far this run can be trusted.</summary>
    public static string ChosenAgain { get; } = Chosen + " (A/A)";

    public static IReadOnlyList<string> Raced { get; } =
        [Baseline, ConcurrentSet, ConcurrentUpdate, ReaderWriterLock, Chosen, ChosenAgain];

    /// <summary>Makes a store.</summary>
    /// <param name="name">The strategy.</param>
    /// <param name="capacity">The number of keys to reserve memory for.</param>
    /// <param name="observer">Gets every change with the lock held; may be null.</param>
    public static IMessageStore<T> Create<T>(string name, int capacity, IMessageObserver<T>? observer = null) => name switch
    {
        Baseline => new LockedMessageStore<T>(capacity, observer),
        ConcurrentSet => new ConcurrentSetMessageStore<T>(capacity, observer),
        ConcurrentUpdate => new ConcurrentUpdateMessageStore<T>(capacity, observer),
        ReaderWriterLock => new ReaderWriterLockMessageStore<T>(capacity, observer),
        _ when StripesOf(name) is > 0 and var stripes => new StripedMessageStore<T>(capacity, stripes, observer),
        _ => throw new ArgumentOutOfRangeException(nameof(name), name, "No such strategy."),
    };

    /// <summary>Whether a name is one that <see cref="Create{T}"/> knows.</summary>
    public static bool IsKnown(string name) => Raced.Contains(name) || StripesOf(name) > 0;

    /// <summary>The number of stripes in a name; 0 for other strategies.</summary>
    public static int StripesOf(string name)
    {
        string number = name == ChosenAgain ? Chosen : name;
        return number.StartsWith(Striped, StringComparison.Ordinal)
            && int.TryParse(number.AsSpan(Striped.Length), NumberStyles.None, CultureInfo.InvariantCulture, out int stripes)
            && stripes is 1 or 2 or 4 or 8 or 16
            ? stripes
            : 0;
    }
}
