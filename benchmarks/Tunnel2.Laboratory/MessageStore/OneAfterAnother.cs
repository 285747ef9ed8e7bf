using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Laboratory.MessageStore;

/// <summary>
/// Gives the changes of a store with several stripes to an observer one after another, with a lock of its own: the price of stripes where
/// the changes of all keys have one order.
/// </summary>
/// <typeparam name="T">The message.</typeparam>
internal sealed class OneAfterAnother<T>(IMessageObserver<T> observer) : IMessageObserver<T>
{
    private readonly Lock _order = new();

    public void OnSet(string key, T value)
    {
        lock (_order)
        {
            observer.OnSet(key, value);
        }
    }

    public void OnDeleted(string key)
    {
        lock (_order)
        {
            observer.OnDeleted(key);
        }
    }

    public void OnReset()
    {
        lock (_order)
        {
            observer.OnReset();
        }
    }
}
