namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>The log events of the links between nodes.</summary>
internal static partial class NodeLinkLog
{
    [LoggerMessage(2180, LogLevel.Information, "Listening for nodes of the cluster on {EndPoint}, as node {Node}")]
    public static partial void ListeningForNodes(ILogger logger, object endPoint, string node);

    [LoggerMessage(2181, LogLevel.Information, "Link to node {Node} open ({Address})")]
    public static partial void LinkOpened(ILogger logger, string node, string address);

    [LoggerMessage(2182, LogLevel.Information, "Link to node {Node} closed: {Reason}")]
    public static partial void LinkClosed(ILogger logger, string node, string reason);

    [LoggerMessage(2183, LogLevel.Warning, "No link to node {Node} at {Address}: {Reason}")]
    public static partial void LinkFailed(ILogger logger, string node, string address, string reason);

    [LoggerMessage(2184, LogLevel.Information, "Node {Node} has opened a link from {RemoteName}")]
    public static partial void LinkAccepted(ILogger logger, string node, string remoteName);

    [LoggerMessage(2185, LogLevel.Information, "The link of node {Node} has closed: {Reason}")]
    public static partial void AcceptedLinkClosed(ILogger logger, string node, string reason);

    [LoggerMessage(2186, LogLevel.Warning, "A link from {RemoteName} is refused: {Reason}")]
    public static partial void LinkRefused(ILogger logger, string remoteName, string reason);

    [LoggerMessage(2187, LogLevel.Information, "The authorities of the cluster were read again from {Path}: {Count}")]
    public static partial void AuthoritiesReloaded(ILogger logger, string path, int count);

    [LoggerMessage(2188, LogLevel.Error, "The authorities of the cluster in {Path} cannot be used, the previous ones count: {Reason}")]
    public static partial void AuthoritiesNotReloaded(ILogger logger, string path, string reason);

    [LoggerMessage(2189, LogLevel.Warning, "Other nodes will refuse this node's certificate in {Path}: {Reason}")]
    public static partial void OwnCertificateRefused(ILogger logger, string path, string reason);

    [LoggerMessage(2190, LogLevel.Error, "A link of another node failed by a fault of ProxyEntry")]
    public static partial void LinkFault(ILogger logger, Exception exception);

    [LoggerMessage(2191, LogLevel.Warning, "This node was taken out of service: {Uplinks} uplinks of agents are asked to go elsewhere")]
    public static partial void Drained(ILogger logger, int uplinks);

    [LoggerMessage(2192, LogLevel.Information, "This node is in service again")]
    public static partial void DrainUndone(ILogger logger);
}
