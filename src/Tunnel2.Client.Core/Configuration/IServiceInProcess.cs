using System.IO.Pipelines;
using Tunnel2.Multiplexing.Transports;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>A service in the agent's own process, to which connections lead without a socket. Thread-safe.</summary>
internal interface IServiceInProcess
{
    /// <summary>Opens a connection. Returns at once, because an event loop may call it.</summary>
    /// <param name="home">Where the agent's operations on it continue; null: on the pool.</param>
    /// <returns>The connection; null: the service does not listen.</returns>
    IByteTransport? TryConnect(PipeScheduler? home);
}
