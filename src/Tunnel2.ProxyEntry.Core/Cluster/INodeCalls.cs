using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>Serves calls of the API that came to another node and are about what this node has. Thread-safe.</summary>
internal interface INodeCalls : IForwarder
{
    /// <summary>The node stops: calls that wait for something end. Returns at once.</summary>
    void Leave();
}
