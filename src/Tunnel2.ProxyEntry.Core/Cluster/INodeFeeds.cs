using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Cluster;

/// <summary>Serves what another node asks of this node itself, and not of a session. Thread-safe.</summary>
internal interface INodeFeeds : IForwarder;
