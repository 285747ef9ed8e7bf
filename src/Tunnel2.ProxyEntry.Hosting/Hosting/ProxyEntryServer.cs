using System.Net;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// A tunnel server that a host runs. <see cref="Tunnel2ServiceCollectionExtensions.AddTunnel2ProxyEntry"/> registers one as a singleton;
/// several are enumerated in the order of the calls. It has the addresses: with port 0 in the settings the system chooses the port. They
/// stay the same after the host has stopped. Thread-safe.
/// </summary>
public sealed class ProxyEntryServer
{
    internal ProxyEntryServer()
    {
    }

    /// <summary>The address for visitors over HTTP; null before the host has started, and when HTTP is off.</summary>
    public IPEndPoint? HttpEndPoint { get; private set; }

    /// <summary>The address for visitors over HTTPS; null before the host has started, and when HTTPS is off.</summary>
    public IPEndPoint? HttpsEndPoint { get; private set; }

    /// <summary>The address for agents; null before the host has started.</summary>
    public IPEndPoint? UplinkEndPoint { get; private set; }

    /// <summary>The address of health, metrics and the live view; null before the host has started.</summary>
    public IPEndPoint? AdminEndPoint { get; private set; }

    /// <summary>The server that runs, or ran until the host stopped; null before the host has started.</summary>
    internal ProxyEntryHost? Running { get; private set; }

    /// <summary>The server runs. Its addresses are kept after it has stopped.</summary>
    internal void Started(ProxyEntryHost running)
    {
        (HttpEndPoint, HttpsEndPoint) = (running.HttpEndPoint, running.HttpsEndPoint);
        (UplinkEndPoint, AdminEndPoint) = (running.UplinkEndPoint, running.AdminEndPoint);
        Running = running;
    }
}
