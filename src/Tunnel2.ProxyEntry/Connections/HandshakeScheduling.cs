using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// Keeps TLS handshakes off the event loop: a handshake's arithmetic takes a millisecond, for which every other visitor would wait. Around
/// Kestrel's TLS middleware: the connection leaves the loop before it and comes back behind it.
/// </summary>
internal static class HandshakeScheduling
{
    /// <summary>Before the TLS middleware.</summary>
    public static void LeaveLoop(this ListenOptions listen) => SetRunsOnLoop(listen, false);

    /// <summary>Behind the TLS middleware.</summary>
    public static void ReturnToLoop(this ListenOptions listen) => SetRunsOnLoop(listen, true);

    private static void SetRunsOnLoop(ListenOptions listen, bool value) => listen.Use((ConnectionDelegate next) => connection =>
    {
        if (connection.Features.Get<ILoopFeature>() is { } loop)
        {
            loop.RunsOnLoop = value;
        }

        return next(connection);
    });
}
