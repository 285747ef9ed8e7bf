namespace Tunnel2.Client.Core.Configuration;

/// <summary>How an agent reaches a further server, where it has sessions with several at the same time. Immutable.</summary>
/// <param name="Server">The server's uplink listener.</param>
/// <param name="Tls">How the uplink is encrypted; null: it is not.</param>
/// <param name="Proxy">Through which proxy; null: none.</param>
/// <param name="IsWebSocket">Whether it is written as a public address: uplinks go over WebSocket.</param>
internal sealed record ServerAccess(ServerEndpoint Server, TlsOptions? Tls, ProxyAddress? Proxy, bool IsWebSocket)
{
    /// <summary>The options of the agent for its session with this server.</summary>
    public AgentOptions Apply(AgentOptions options) => options with
    {
        Server = Server,
        Tls = Tls,
        Proxy = Proxy,
        Uplink = IsWebSocket ? UplinkWay.WebSocket : options.Uplink,
        PublicPort = IsWebSocket ? Server.Port : options.PublicPort,
    };
}
