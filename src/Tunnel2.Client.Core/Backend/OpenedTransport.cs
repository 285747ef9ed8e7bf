using System.Net.Security;
using Tunnel2.Multiplexing.Transports;

namespace Tunnel2.Client.Core.Backend;

/// <summary>An opened connection to the service, or why there is none.</summary>
/// <param name="Transport">The connection, encrypted where the service is https; null: there is none.</param>
/// <param name="Failure">Why.</param>
internal readonly record struct OpenedTransport(IByteTransport? Transport, BackendFailure Failure)
{
    /// <summary>What the service chose by ALPN; the default value where nothing was offered or chosen.</summary>
    public SslApplicationProtocol Protocol { get; init; }

    /// <summary>Whether there is no descriptor for it, and other connections that may become free.</summary>
    public bool HasOthers { get; init; }
}
