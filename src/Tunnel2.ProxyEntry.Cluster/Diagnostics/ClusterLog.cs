namespace Tunnel2.ProxyEntry.Cluster.Diagnostics;

/// <summary>The events of a node's place in its cluster: 2700–2729. Ids never change.</summary>
internal static partial class ClusterLog
{
    [LoggerMessage(2700, LogLevel.Information, "Node {Node} is in the cluster (lease {Incarnation}, {Names} names)")]
    public static partial void Joined(ILogger logger, string node, long incarnation, int names);

    [LoggerMessage(
        2701, LogLevel.Warning,
        "The cluster's database is not available: {Reason}. Known names are served on; new names are refused until it is back")]
    public static partial void DatabaseLost(ILogger logger, string reason);

    [LoggerMessage(2702, LogLevel.Information, "The cluster's database is available again after {Duration}")]
    public static partial void DatabaseBack(ILogger logger, TimeSpan duration);

    [LoggerMessage(2703, LogLevel.Warning, "Node {Node} has lost its lease; its names are registered again")]
    public static partial void LeaseLost(ILogger logger, string node);

    [LoggerMessage(
        2704, LogLevel.Warning, "Another process is node {Node} now; this one continues as {NewNode}. Give each its own EntryId")]
    public static partial void Renamed(ILogger logger, string node, string newNode);

    [LoggerMessage(2705, LogLevel.Information, "Session {SessionId} of {PublicName} superseded: node {Node} has the name now")]
    public static partial void NameLost(ILogger logger, string sessionId, string publicName, string node);

    [LoggerMessage(
        2706, LogLevel.Information,
        "Session {SessionId} of {PublicName} serves at once, because the name was its owner's; the database will hear of it")]
    public static partial void RegisteredAlone(ILogger logger, string sessionId, string publicName);

    [LoggerMessage(
        2707, LogLevel.Warning,
        "The database has {Stored} names of this node, which serves {Served}: {Missing} are registered again, {Extra} removed")]
    public static partial void NamesDiffer(ILogger logger, long stored, long served, int missing, int extra);

    [LoggerMessage(2708, LogLevel.Debug, "Changes of the cluster are heard")]
    public static partial void Listening(ILogger logger);

    [LoggerMessage(2709, LogLevel.Information, "The cluster's database was updated to schema {Version}")]
    public static partial void SchemaUpdated(ILogger logger, int version);

    [LoggerMessage(2710, LogLevel.Error, "Keeping this node's place in the cluster failed by a fault of ProxyEntry")]
    public static partial void KeeperFault(ILogger logger, Exception exception);

    [LoggerMessage(
        2717, LogLevel.Warning,
        "Shares of limits cannot be exchanged with other nodes: {Reason}. This node keeps its shares, and soon has equal parts")]
    public static partial void SharesFailed(ILogger logger, string reason);

    [LoggerMessage(
        2718, LogLevel.Error,
        "This node is cut off from the cluster's database and from all other nodes: it is not ready, and serves what it knows")]
    public static partial void CutOff(ILogger logger);

    [LoggerMessage(2719, LogLevel.Information, "This node is no longer cut off")]
    public static partial void NotCutOff(ILogger logger);

    [LoggerMessage(
        2720, LogLevel.Warning,
        "What the cluster shares ({Kind}) cannot be read: {Reason}. This node continues with its copy, and changes are refused")]
    public static partial void SharedLost(ILogger logger, string kind, string reason);

    [LoggerMessage(2721, LogLevel.Information, "What the cluster shares ({Kind}) can be read again")]
    public static partial void SharedBack(ILogger logger, string kind);

    [LoggerMessage(
        2722, LogLevel.Warning,
        "A transaction has locked the row of {Name} in the cluster's database: its changes follow when it is free. Other names continue")]
    public static partial void RowLocked(ILogger logger, string name);

    [LoggerMessage(
        2723, LogLevel.Warning,
        "Node {Node} has the Domain {Domain}, and this one {OwnDomain}: visitors find a name at some nodes only. Give all the same")]
    public static partial void OtherDomain(ILogger logger, string node, string domain, string ownDomain);
}
