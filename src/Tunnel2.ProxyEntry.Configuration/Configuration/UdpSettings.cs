using System.Net;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The settings of tunnels that carry UDP. Immutable.</summary>
internal sealed class UdpSettings(SettingsReader read)
{
    /// <summary>The ports for agents that want one; null for none.</summary>
    public PortRange? Ports { get; } = read.Value<PortRange?>(
        "Udp:Ports", "20000-20099", "a port, first-last (at most 10,000), off",
        "public ports for tunnels of UDP (`tunnel2 udp`); see [TCP and TLS](tcp.md#a-port-for-datagrams)", TcpSettings.ParsePorts);

    /// <summary>How many of these ports one agent has at most; null: <see cref="PortRange.PartOfOne"/>.</summary>
    public int? PortsPerAgent { get; } = read.NumberOrNone(
        "Udp:PortsPerAgent", 1, PortRange.MostPorts, "the same as `Tcp:PortsPerAgent`, for these ports",
        "a quarter of `Udp:Ports`, at least 10");

    /// <summary>The address of these ports.</summary>
    public IPAddress Listen { get; } = read.Value<IPAddress>(
        "Udp:Listen", "127.0.0.1", "an IP address, localhost, `*`", "the address on which these ports are public",
        SettingValues.ParseAddress);

    /// <summary>How long a visitor's datagrams belong together.</summary>
    public TimeSpan Idle { get; } = read.Duration(
        "Udp:Idle", "60s", "1s", "24h", "after how long without a datagram a visitor is forgotten");
}
