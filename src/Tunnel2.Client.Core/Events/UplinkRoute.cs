using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Core.Events;

/// <summary>How a session's uplinks reach the server. Immutable.</summary>
/// <param name="Way">Direct or over WebSocket.</param>
/// <param name="Server">The port that is used.</param>
/// <param name="Proxy">Through which proxy, without user and password; null: none.</param>
/// <param name="Reason">Why it is not the uplink's own port, in a sentence; null: it was not tried, or it is.</param>
public sealed record UplinkRoute(UplinkWay Way, ServerEndpoint Server, string? Proxy, string? Reason)
{
    /// <summary>One line for the user.</summary>
    public string Message
    {
        get
        {
            var proxy = Proxy is null ? "" : $" through the proxy {Proxy}";
            return Way != UplinkWay.WebSocket ? $"Uplink: {Server}{proxy}"
                : Reason is null ? $"Uplink: over WebSocket at {Server}{proxy}"
                : $"Uplink: over WebSocket at {Server}{proxy}, until the uplink port can be reached. {Reason}";
        }
    }

    internal static string NameOf(UplinkWay way) => way == UplinkWay.WebSocket ? "wss" : "direct";
}
