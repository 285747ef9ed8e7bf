namespace Tunnel2.Telemetry.MessageStore;

/// <summary>Follows the changes of a <see cref="StripedMessageStore{T}"/> from the snapshot on that it was given when it joined.</summary>
/// <remarks>
/// Called on the publisher's thread with the lock of the changed key held, which is what makes snapshot and live changes fit without a gap
/// or a repeat. So: changes of one key arrive one after the other and in order, changes of different keys may arrive at the same time on
/// different threads; an implementation hands the message on (to a queue, to a socket that does not block) and returns, and it never calls
/// the store. It does not throw: the publisher, whose change has taken place, would get the exception, and the observers after it would
/// miss the change.
/// </remarks>
/// <typeparam name="T">The message.</typeparam>
internal interface IMessageObserver<T>
{
    /// <summary>A key got a new latest message.</summary>
    void OnSet(string key, T value);

    /// <summary>A key was forgotten.</summary>
    void OnDeleted(string key);

    /// <summary>Every key was forgotten. No other call is running meanwhile.</summary>
    void OnReset();
}
