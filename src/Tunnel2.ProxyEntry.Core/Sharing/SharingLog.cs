namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>What the log says of documents that nodes share.</summary>
internal static partial class SharingLog
{
    [LoggerMessage(
        2238, LogLevel.Information,
        "The cluster has {Count} {Kind} now; this node has offered {Own} of its own, because it or the database was new")]
    public static partial void SharedFilled(ILogger logger, string kind, int own, int count);

    [LoggerMessage(2239, LogLevel.Error, "The copy of the cluster's {Kind} cannot be kept in {Path}: {Reason}")]
    public static partial void SharedCopyNotKept(ILogger logger, string kind, string path, string reason);
}
