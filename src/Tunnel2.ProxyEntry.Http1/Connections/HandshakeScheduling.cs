using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// What goes around Kestrel's TLS middleware. Handshakes stay off the event loop: their arithmetic takes a millisecond, for which every
/// other visitor would wait; the connection leaves the loop before it and comes back behind it.
/// </summary>
internal static class HandshakeScheduling
{
    /// <summary>Before the TLS middleware.</summary>
    public static void LeaveLoop(this ListenOptions listen) => SetRunsOnLoop(listen, false);

    /// <summary>Behind the TLS middleware.</summary>
    public static void ReturnToLoop(this ListenOptions listen) => SetRunsOnLoop(listen, true);

    /// <summary>
    /// Before the TLS middleware: TLS does not tell when the connection below it is lost, so <see cref="IVisitorLinkFeature"/> does.
    /// </summary>
    public static void WatchForLoss(this ListenOptions listen) => listen.Use((ConnectionDelegate next) => connection =>
    {
        var watched = new WatchedTransport(
            connection.Transport,
            connection.Features.Get<IVisitorLinkFeature>(),
            connection.Features.Get<IConnectionSocketFeature>()?.Socket);
        connection.Features.Set<IVisitorLinkFeature>(watched);
        connection.Transport = watched;
        return next(connection);
    });

    private static void SetRunsOnLoop(ListenOptions listen, bool value) => listen.Use((ConnectionDelegate next) => connection =>
    {
        if (connection.Features.Get<ILoopFeature>() is { } loop)
        {
            loop.RunsOnLoop = value;
        }

        return next(connection);
    });
}
