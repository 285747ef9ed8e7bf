using Microsoft.Extensions.Logging;

namespace Tunnel2.Embed;

/// <summary>The lines of a program's tunnels. docs/log-events.md lists them.</summary>
internal static partial class EmbedLog
{
    public const string Category = "Tunnel2.Embed";

    [LoggerMessage(3100, LogLevel.Information, "Tunnel {Name} is open: {PublicUrls}")]
    public static partial void Open(ILogger logger, string name, string publicUrls);

    [LoggerMessage(3101, LogLevel.Warning, "Tunnel {Name} is not open: {Reason} It is tried again")]
    public static partial void Interrupted(ILogger logger, string name, string reason);

    [LoggerMessage(3102, LogLevel.Debug, "Tunnel {Name} is still not open: {Reason}")]
    public static partial void StillInterrupted(ILogger logger, string name, string reason);

    [LoggerMessage(3103, LogLevel.Error, "Tunnel {Name} was refused: {Reason} The next attempt is in {Delay}")]
    public static partial void Refused(ILogger logger, string name, string reason, TimeSpan delay);

    [LoggerMessage(3104, LogLevel.Error, "Tunnel {Name} is closed until the program restarts: {Reason}")]
    public static partial void Superseded(ILogger logger, string name, string reason);

    [LoggerMessage(3105, LogLevel.Information, "Tunnel {Name} finishes the requests under way")]
    public static partial void Draining(ILogger logger, string name);

    [LoggerMessage(3106, LogLevel.Information, "Tunnel {Name} is closed")]
    public static partial void Closed(ILogger logger, string name);

    [LoggerMessage(3107, LogLevel.Warning, "Tunnel {Name}: {Count} requests failed at the {Leg}: {Error}")]
    public static partial void RequestsFailed(ILogger logger, string name, long count, string leg, string error);

    [LoggerMessage(3108, LogLevel.Information, "Tunnel {Name}: {Change}")]
    public static partial void Changed(ILogger logger, string name, string change);

    [LoggerMessage(3109, LogLevel.Warning, "Tunnel {Name}: {Trouble}")]
    public static partial void Troubled(ILogger logger, string name, string trouble);

    [LoggerMessage(3110, LogLevel.Warning, "Tunnel {Name} is not opened: {Obstacle}")]
    public static partial void NotOpened(ILogger logger, string name, string obstacle);

    [LoggerMessage(3111, LogLevel.Error, "Tunnel {Name} failed by a fault of its own. The next attempt is in {Delay}")]
    public static partial void Failed(ILogger logger, string name, TimeSpan delay, Exception exception);

    [LoggerMessage(3112, LogLevel.Error, "An internal error was contained at: {Place} ({Count} since the last such line)")]
    public static partial void Contained(ILogger logger, string place, long count, Exception exception);
}
