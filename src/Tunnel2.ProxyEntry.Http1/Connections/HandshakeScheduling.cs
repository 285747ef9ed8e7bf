using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// The steps before and after Kestrel's TLS middleware. A handshake's cryptography takes a millisecond, which would hold up every other
/// visitor of the loop. So the connection leaves the loop before the handshake and returns after it.
/// </summary>
internal static class HandshakeScheduling
{
    /// <summary>Before the TLS middleware.</summary>
    public static void LeaveLoop(this ListenOptions listen) => SetRunsOnLoop(listen, false);

    /// <summary>After the TLS middleware.</summary>
    public static void ReturnToLoop(this ListenOptions listen) => SetRunsOnLoop(listen, true);

    /// <summary>
    /// Before the TLS middleware: TLS does not report when the connection below it is lost, so <see cref="IVisitorLinkFeature"/> does.
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
