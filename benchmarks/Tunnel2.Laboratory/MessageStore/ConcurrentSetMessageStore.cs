using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Laboratory.MessageStore;

/// <summary>A <see cref="ConcurrentMessageStore{T}"/> written through the map's indexer.</summary>
/// <typeparam name="T">The message.</typeparam>
internal sealed class ConcurrentSetMessageStore<T>(int capacity = 0, IMessageObserver<T>? observer = null)
    : ConcurrentMessageStore<T>(capacity, observer)
{
    protected override void Store(string key, T value) => Messages[key] = value;
}
