using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Telemetry.Tests.MessageStore;

/// <summary>
/// The store that runs, by the names of what it is tried with; those that lost the race have a list of their own in
/// Tunnel2.Laboratory.Tests.
/// </summary>
public static class MessageStoreStrategies
{
    public static TheoryData<string> Names => ["striped-1", "striped-2", "striped-8"];

    internal static IMessageStore<T> Create<T>(string name, IMessageObserver<T>? observer = null) => name switch
    {
        "striped-1" => new StripedMessageStore<T>(stripes: 1, observer: observer),
        "striped-2" => new StripedMessageStore<T>(stripes: 2, observer: observer),
        "striped-8" => new StripedMessageStore<T>(stripes: 8, observer: observer),
        _ => throw new ArgumentOutOfRangeException(nameof(name), name, "No such strategy."),
    };
}
