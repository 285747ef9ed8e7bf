using Tunnel2.Laboratory.MessageStore;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Telemetry.Tests.MessageStore;

/// <summary>The stores that lost the race, by name, for the contract that they share with the one that runs.</summary>
public static class MessageStoreStrategies
{
    public static TheoryData<string> Names => ["locked", "reader-writer-lock", "concurrent-set", "concurrent-update"];

    internal static IMessageStore<T> Create<T>(string name, IMessageObserver<T>? observer = null) => name switch
    {
        "locked" => new LockedMessageStore<T>(observer: observer),
        "reader-writer-lock" => new ReaderWriterLockMessageStore<T>(observer: observer),
        "concurrent-set" => new ConcurrentSetMessageStore<T>(observer: observer),
        "concurrent-update" => new ConcurrentUpdateMessageStore<T>(observer: observer),
        _ => throw new ArgumentOutOfRangeException(nameof(name), name, "No such strategy."),
    };
}
