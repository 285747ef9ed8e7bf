namespace Tunnel2.Embed.Connections;

/// <summary>Marks connections that come through the tunnel: what their requests say about the visitor is the server's word.</summary>
internal interface ITunnelConnectionFeature;
