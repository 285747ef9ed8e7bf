using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Telemetry.Tests.MessageStore;

/// <summary>Every strategy by name, for the tests that all of them must pass.</summary>
public static class MessageStoreStrategies
{
    public static TheoryData<string> Names => ["locked", "reader-writer-lock", "concurrent-set", "concurrent-update", "striped", "striped-8"];

    internal static IMessageStore<T> Create<T>(string name) => name switch
    {
        "locked" => new LockedMessageStore<T>(),
        "reader-writer-lock" => new ReaderWriterLockMessageStore<T>(),
        "concurrent-set" => new ConcurrentSetMessageStore<T>(),
        "concurrent-update" => new ConcurrentUpdateMessageStore<T>(),
        "striped" => new StripedMessageStore<T>(),
        "striped-8" => new StripedMessageStore<T>(stripes: 8),
        _ => throw new ArgumentOutOfRangeException(nameof(name), name, "No such strategy."),
    };
}
