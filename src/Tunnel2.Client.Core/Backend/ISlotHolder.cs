namespace Tunnel2.Client.Core.Backend;

/// <summary>Holds slots for connections that many requests share. Thread-safe.</summary>
internal interface ISlotHolder
{
    /// <summary>Closes a connection without a request, if there is one: its slot is given back a moment later.</summary>
    /// <returns>Whether there was one.</returns>
    bool TryGiveWay();
}
