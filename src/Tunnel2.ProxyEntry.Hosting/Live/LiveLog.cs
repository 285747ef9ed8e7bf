using System.Net;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>The events of the live plane: 4000–4099. Ids never change. No target, header or body is ever logged.</summary>
internal static partial class LiveLog
{
    [LoggerMessage(4000, LogLevel.Information, "Requests are published to {Path}; follow them with tunnel2 tap")]
    public static partial void RingOpened(ILogger logger, string path);

    [LoggerMessage(
        4001, LogLevel.Warning, "No live view of requests: the event ring cannot be opened ({Reason}); forwarding is not affected")]
    public static partial void RingFailed(ILogger logger, string reason);

    [LoggerMessage(4002, LogLevel.Warning, "The ring at {Path} was not taken over ({Reason}); a new one has been put in its place")]
    public static partial void RingReplaced(ILogger logger, string path, string reason);

    [LoggerMessage(4003, LogLevel.Information, "Relaying requests on {EndPoint} ({Protection})")]
    public static partial void RelayStarted(ILogger logger, EndPoint endPoint, string protection);

    [LoggerMessage(4004, LogLevel.Warning, "No relay on {EndPoint}: {Reason}")]
    public static partial void RelayFailed(ILogger logger, EndPoint endPoint, string reason);

    [LoggerMessage(
        4005, LogLevel.Error, "The live view failed by a fault of its own and continues with the next records; forwarding is not affected")]
    public static partial void AggregationFailed(ILogger logger, Exception exception);

    [LoggerMessage(
        4006, LogLevel.Information,
        "The live view takes at most {Most} subscribers instead of {Wanted}: this process may have {Limit} files open")]
    public static partial void FewerSubscribers(ILogger logger, int most, int wanted, int limit);

    [LoggerMessage(
        4007, LogLevel.Information,
        "Relay certificate {Subject} until {Until}; clients may pin it: tunnel2 tap --server-fingerprint {Fingerprint}")]
    public static partial void RelayCertificateInUse(ILogger logger, string subject, string until, string fingerprint);

    [LoggerMessage(4008, LogLevel.Warning, "A client of the relay from {RemoteAddress} was refused: its token is missing or wrong")]
    public static partial void RelayClientRefused(ILogger logger, IPAddress remoteAddress);

    [LoggerMessage(4009, LogLevel.Warning, "The handshake of a client of the relay from {RemoteAddress} failed: {Reason}")]
    public static partial void RelayHandshakeFailed(ILogger logger, IPAddress? remoteAddress, string reason);
}
