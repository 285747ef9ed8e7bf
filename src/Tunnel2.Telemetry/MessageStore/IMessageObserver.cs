namespace Tunnel2.Telemetry.MessageStore;

/// <summary>Gets the changes of an <see cref="IMessageStore{T}"/>.</summary>
/// <remarks>
/// The store calls it on the publisher's thread with the lock of the changed key held, so that the snapshot of a join and the live changes
/// after it meet without a gap or a repeat. Changes of one key arrive one after another, in order. In a store with several stripes, changes
/// of different keys may arrive at the same time on different threads; all other stores make one call after another. An implementation
/// passes the message on (to a queue, or to a socket that does not block), returns, and never calls the store. It must not throw: the
/// publisher, whose change has taken place, would get the exception.
/// </remarks>
/// <typeparam name="T">The message.</typeparam>
internal interface IMessageObserver<T>
{
    /// <summary>A key got a new latest message.</summary>
    void OnSet(string key, T value);

    /// <summary>A key was removed.</summary>
    void OnDeleted(string key);

    /// <summary>Every key was removed. No other call runs at the same time.</summary>
    void OnReset();
}
