using System.Net;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// A tunnel server that a host runs. <see cref="Tunnel2ServiceCollectionExtensions.AddTunnel2ProxyEntry"/> registers one as a singleton;
/// several are enumerated in the order of the calls. It gives the addresses: with port 0 in the settings the system chooses the port. They
/// stay as they are when the host has stopped. Thread-safe.
/// </summary>
public sealed class ProxyEntryServer
{
    internal ProxyEntryServer()
    {
    }

    /// <summary>Where visitors call over HTTP; null before the host has started, and where HTTP is off.</summary>
    public IPEndPoint? HttpEndPoint { get; private set; }

    /// <summary>Where visitors call over HTTPS; null before the host has started, and where HTTPS is off.</summary>
    public IPEndPoint? HttpsEndPoint { get; private set; }

    /// <summary>Where agents connect; null before the host has started.</summary>
    public IPEndPoint? UplinkEndPoint { get; private set; }

    /// <summary>Where health, metrics and the live view are served; null before the host has started.</summary>
    public IPEndPoint? AdminEndPoint { get; private set; }

    /// <summary>What runs, or ran until the host stopped; null before the host has started.</summary>
    internal ProxyEntryHost? Running { get; private set; }

    /// <summary>It runs. Its addresses are kept when it has stopped.</summary>
    internal void Started(ProxyEntryHost running)
    {
        (HttpEndPoint, HttpsEndPoint) = (running.HttpEndPoint, running.HttpsEndPoint);
        (UplinkEndPoint, AdminEndPoint) = (running.UplinkEndPoint, running.AdminEndPoint);
        Running = running;
    }
}
