namespace Tunnel2.ProxyEntry.Limits;

/// <summary>The agents' connections after their handshake. Thread-safe.</summary>
internal interface IUplinkPlaces
{
    /// <summary>How many there are now.</summary>
    int Connections { get; }

    /// <summary>How many there may be at most. A lower value does not close connections.</summary>
    int MostConnections { get; set; }
}
