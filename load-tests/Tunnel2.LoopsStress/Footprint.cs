using System.Globalization;
using System.Text.RegularExpressions;

namespace Tunnel2.LoopsStress;

/// <summary>What a tunnel that is at rest holds: what has to be the same at the end as at the start.</summary>
internal sealed partial class Footprint
{
    /// <summary>What the runtime may open or start for good in the meantime.</summary>
    private const int Slack = 6;

    /// <summary>Credit comes back in quarters of an uplink's window (32 MiB): so much less one byte an agent may keep at rest.</summary>
    private const double CreditPortion = 8 * 1024 * 1024;

    /// <summary>What is 0 without visitors.</summary>
    private static readonly string[] _none =
    [
        "tunnel2_entry_streams_active", "tunnel2_entry_uplink_streams_active", "tunnel2_entry_uplink_streams_waiting",
        "tunnel2_entry_uplink_pending_bytes", "tunnel2_entry_parked_active", "tunnel2_entry_receive_held_bytes",
        "tunnel2_entry_engine_loops_failed", "tunnel2_entry_faults_contained_total",
    ];

    private readonly Dictionary<string, double> _values = [];

    /// <summary>Times that a visitor's connection went to another loop so far.</summary>
    public double Moves { get; private set; }

    /// <summary>Streams between two loops so far.</summary>
    public double Crossings { get; private set; }

    /// <summary>Reads it now.</summary>
    public static async Task<Footprint> ReadAsync(StressTunnel tunnel, HttpClient client)
    {
        var metrics = await client.GetStringAsync(new Uri($"http://{tunnel.Admin}/metrics"));
        var footprint = new Footprint
        {
            Moves = Sum(metrics, "tunnel2_entry_loop_connections_moved_total", ""),
            Crossings = Sum(metrics, "tunnel2_entry_loop_streams_crossed_total", ""),
        };
        foreach (var name in _none)
        {
            footprint._values[name] = Sum(metrics, name, "");
        }

        footprint._values["connections of visitors"] = Sum(metrics, "tunnel2_entry_connections_active", "kind=\"visitors\"");
        footprint._values["connections in handshakes"] = Sum(metrics, "tunnel2_entry_connections_active", "kind=\"handshakes\"");
        footprint._values[UplinksActive] = Sum(metrics, "tunnel2_entry_uplinks_active", "");
        footprint._values[Outstanding] = Sum(metrics, Outstanding, "");
        footprint._values["sessions"] = Sum(metrics, "tunnel2_entry_sessions_active", "") - tunnel.Names.Count;
        footprint._values[Buffers] = Sum(metrics, "tunnel2_entry_buffers_outstanding", "");
        foreach (var (name, process) in tunnel.Lasting)
        {
            footprint._values[$"{name}: descriptors"] = Directory.GetFileSystemEntries($"/proc/{process.Id}/fd").Length;
            footprint._values[$"{name}: threads"] = Directory.GetDirectories($"/proc/{process.Id}/task").Length;
        }

        return footprint;
    }

    /// <summary>What is more than at the start, in words.</summary>
    public IEnumerable<string> Beyond(Footprint start)
    {
        foreach (var (name, value) in _values)
        {
            var most = name == UplinksActive ? StressTunnel.Uplinks
                : name == Outstanding ? StressTunnel.Uplinks * CreditPortion
                : name == Buffers ? start._values[name] + 2
                : name.Contains(": ", StringComparison.Ordinal) ? start._values[name] + Slack
                : 0;
            if (value > most || (name is UplinksActive or "sessions" && value < most))
            {
                yield return string.Create(CultureInfo.InvariantCulture, $"{name} is {value}, at the start it was {start._values[name]}");
            }
        }
    }

    /// <inheritdoc/>
    public override string ToString() => string.Join(
        '\n',
        _values.Where(static pair => pair.Value != 0)
            .Select(static pair => string.Create(CultureInfo.InvariantCulture, $"  {pair.Value,9:N0}  {pair.Key}")));

    private const string UplinksActive = "uplinks";
    private const string Buffers = "buffers";
    private const string Outstanding = "tunnel2_entry_uplink_outstanding_bytes";

    private static double Sum(string metrics, string name, string label) => Sample().Matches(metrics)
        .Where(match => match.Groups[1].Value == name && match.Groups[2].Value.Contains(label, StringComparison.Ordinal))
        .Sum(static match => double.Parse(match.Groups[3].Value, CultureInfo.InvariantCulture));

    [GeneratedRegex(@"^([a-z0-9_]+)(\{[^}]*\})? (\S+)$", RegexOptions.Multiline)]
    private static partial Regex Sample();
}
