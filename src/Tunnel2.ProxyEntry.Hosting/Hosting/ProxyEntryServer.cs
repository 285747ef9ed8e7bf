using System.Net;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// A tunnel server that a host runs. <see cref="Tunnel2ServiceCollectionExtensions.AddTunnel2ProxyEntry"/> registers one as a singleton; several
/// are enumerated in the order of the calls. It is there to ask for addresses: with port 0 in the settings the system chooses the port.
/// Thread-safe.
/// </summary>
public sealed class ProxyEntryServer
{
    internal ProxyEntryServer()
    {
    }

    /// <summary>Where visitors call over HTTP; null before the host has started, and where HTTP is off.</summary>
    public IPEndPoint? HttpEndPoint => Running?.HttpEndPoint;

    /// <summary>Where visitors call over HTTPS; null before the host has started, and where HTTPS is off.</summary>
    public IPEndPoint? HttpsEndPoint => Running?.HttpsEndPoint;

    /// <summary>Where agents connect; null before the host has started.</summary>
    public IPEndPoint? UplinkEndPoint => Running?.UplinkEndPoint;

    /// <summary>Where health, metrics and the live view are served; null before the host has started.</summary>
    public IPEndPoint? AdminEndPoint => Running?.AdminEndPoint;

    /// <summary>What runs, or ran until the host stopped.</summary>
    internal ProxyEntryHost? Running { get; set; }
}
