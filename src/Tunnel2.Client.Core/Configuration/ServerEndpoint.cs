namespace Tunnel2.Client.Core.Configuration;

/// <summary>The host and port of a server's uplink listener.</summary>
/// <param name="Host">A DNS name or an IP literal; an IPv6 literal has no brackets.</param>
/// <param name="Port">1–65535.</param>
public sealed record ServerEndpoint(string Host, int Port)
{
    /// <summary>The port of the uplink listener when none is named.</summary>
    public const int DefaultPort = 12001;

    /// <summary>A server on this machine at its default port: <c>127.0.0.1:12001</c>.</summary>
    public static ServerEndpoint Default { get; } = new("127.0.0.1", DefaultPort);

    /// <summary><c>host:port</c>, an IPv6 literal in brackets.</summary>
    public override string ToString() => HostPort.Format(Host, Port);
}
