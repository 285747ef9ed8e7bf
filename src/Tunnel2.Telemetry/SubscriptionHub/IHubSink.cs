using System.Net.Sockets;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>Where the frames of a client go. Only the hub's sender sends; <see cref="Shutdown"/> may come from any thread.</summary>
internal interface IHubSink
{
    /// <summary>Takes as many bytes as there is room for, without waiting.</summary>
    /// <param name="source">The memory; it is not kept.</param>
    /// <param name="offset">Where the bytes begin.</param>
    /// <param name="length">How many there are.</param>
    /// <param name="error"><see cref="SocketError.WouldBlock"/> when there is no room now.</param>
    /// <returns>How many bytes were taken.</returns>
    /// <exception cref="ObjectDisposedException">The connection is over.</exception>
    int Send(byte[] source, int offset, int length, out SocketError error);

    /// <summary>Ends one direction or both.</summary>
    /// <exception cref="SocketException">It is over already.</exception>
    /// <exception cref="ObjectDisposedException">It is over already.</exception>
    void Shutdown(SocketShutdown how);
}
