namespace Tunnel2.ProxyEntry.Limits;

/// <summary>The connections that agents have behind their handshake. Thread-safe.</summary>
internal interface IUplinkPlaces
{
    /// <summary>Connections now.</summary>
    int Connections { get; }

    /// <summary>The most connections. Those that are there stay.</summary>
    int MostConnections { get; set; }
}
