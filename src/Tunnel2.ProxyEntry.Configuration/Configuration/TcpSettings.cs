using System.Globalization;
using System.Net;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The settings of tunnels that carry TCP. Immutable.</summary>
internal sealed class TcpSettings(SettingsReader read)
{
    /// <summary>The ports for agents that want one; null for none.</summary>
    public PortRange? Ports { get; } = read.Value<PortRange?>(
        "Tcp:Ports", "20000-20099", "a port, first-last (at most 10,000), off",
        "public ports for tunnels of TCP (`tunnel2 tcp`); see [TCP and TLS](tcp.md)", ParsePorts);

    /// <summary>How many of these ports one agent has at most; null: <see cref="PortRange.PartOfOne"/>.</summary>
    public int? PortsPerAgent { get; } = read.NumberOrNone(
        "Tcp:PortsPerAgent", 1, PortRange.MostPorts,
        "how many of these ports one agent (a token; without tokens a user) has at most at this node, with those that are kept for it. "
        + "Above it the answer is: come again later",
        "a quarter of `Tcp:Ports`, at least 10");

    /// <summary>The address of these ports.</summary>
    public IPAddress Listen { get; } = read.Value<IPAddress>(
        "Tcp:Listen", "127.0.0.1", "an IP address, localhost, `*`", "the address on which these ports are public",
        SettingValues.ParseAddress);

    /// <summary>How long a port is kept for its owner; zero: it is free at once.</summary>
    public TimeSpan KeepPort { get; } = OffIsZero(read.DurationOrOff(
        "Tcp:KeepPort", "10m", "1s", "24h",
        "how long a port is kept for its agent after the agent has left. With no other port left, the one that was left first is given "
        + "away"));

    /// <summary>How long a connection may be silent; infinite: without limit.</summary>
    public TimeSpan Idle { get; } = read.DurationOrOff(
        "Tcp:Idle", "off", "1s", "24h", "how long a connection of TCP or TLS by name may carry nothing: then it is cut");

    /// <summary>How long a connection may be silent of which one direction has ended; infinite: without limit.</summary>
    public TimeSpan HalfClosed { get; } = read.DurationOrOff(
        "Tcp:HalfClosed", "4h", "1s", "24h",
        "how long a connection of TCP or TLS by name may carry nothing after one side has ended its direction: then it is cut");

    /// <summary><see cref="Idle"/> in milliseconds.</summary>
    public long MostSilent => Milliseconds(Idle);

    /// <summary><see cref="HalfClosed"/> in milliseconds.</summary>
    public long MostHalfClosed => Milliseconds(HalfClosed);

    private static long Milliseconds(TimeSpan limit) => limit == Timeout.InfiniteTimeSpan ? long.MaxValue : (long)limit.TotalMilliseconds;

    private static TimeSpan OffIsZero(TimeSpan value) => value == Timeout.InfiniteTimeSpan ? TimeSpan.Zero : value;

    internal static string? ParsePorts(string text, out PortRange? value)
    {
        value = null;
        if (text.Equals("off", StringComparison.OrdinalIgnoreCase))
        {
            return null;
        }

        var dash = text.IndexOf('-');
        if (!TryParsePort(dash < 0 ? text : text.AsSpan(0, dash), out var first)
            || !TryParsePort(dash < 0 ? text : text.AsSpan(dash + 1), out var last))
        {
            return "is not a range of ports such as 20000-20099 (1 to 65535), or off.";
        }

        var range = new PortRange(first, last);
        if (range.Count is < 1 or > PortRange.MostPorts)
        {
            return string.Create(CultureInfo.InvariantCulture, $"does not have 1 to {PortRange.MostPorts} ports, the lower one first.");
        }

        value = range;
        return null;
    }

    private static bool TryParsePort(ReadOnlySpan<char> text, out int port) =>
        int.TryParse(text.Trim(), NumberStyles.None, CultureInfo.InvariantCulture, out port) && port is >= 1 and <= 65_535;
}
