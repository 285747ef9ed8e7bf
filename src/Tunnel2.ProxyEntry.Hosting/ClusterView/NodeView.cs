using System.Text.Json;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.Telemetry.Aggregation;

namespace Tunnel2.ProxyEntry.ClusterView;

/// <summary>What is known of one node of the cluster, for <c>cluster.nodes</c>. Not thread-safe.</summary>
/// <param name="name">The node.</param>
/// <param name="isHere">Whether it is this one.</param>
/// <param name="time">The clock.</param>
internal sealed class NodeView(string name, bool isHere, TimeProvider time)
{
    /// <summary>A node that has sent nothing for this long is lost: its load comes each second.</summary>
    public static readonly TimeSpan Silence = TimeSpan.FromSeconds(4);

    /// <summary>A window of a second is the present for this long.</summary>
    private static readonly TimeSpan _present = TimeSpan.FromMilliseconds(2500);

    private long _heard = time.GetTimestamp();
    private long _heardMs = time.GetUtcNow().ToUnixTimeMilliseconds();
    private long _sinceMs = time.GetUtcNow().ToUnixTimeMilliseconds();
    private long _second;
    private WindowResult? _last;
    private string _version = "";
    private string? _trouble;
    private string? _problem;
    private int _sessions;
    private int _uplinks;
    private int _streams;
    private long _missed;

    /// <summary>The node.</summary>
    public string Name => name;

    /// <summary>How it is.</summary>
    public NodeHealth Health { get; private set; } = NodeHealth.Connecting;

    /// <summary>Whether it counts in sums.</summary>
    public bool IsCounted => Health == NodeHealth.Up;

    /// <summary>Sessions at it.</summary>
    public int Sessions => IsCounted ? _sessions : 0;

    /// <summary>Requests that its statistics miss.</summary>
    public long Missed => IsCounted ? _missed : 0;

    /// <summary>Messages of it that this node has not got.</summary>
    public long Skipped { get; set; }

    /// <summary>How long it has been lost; zero while it is not.</summary>
    public TimeSpan LostFor => Health is NodeHealth.Lost ? time.GetElapsedTime(_heard) : TimeSpan.Zero;

    /// <summary>Something came from it.</summary>
    public void Hear()
    {
        _heard = time.GetTimestamp();
        _heardMs = time.GetUtcNow().ToUnixTimeMilliseconds();
        _problem = null;
        Change(NodeHealth.Up);
    }

    /// <summary>Its feed has ended, or did not begin.</summary>
    public void Fail(string problem, bool isOlder)
    {
        _problem = problem;
        Change(isOlder ? NodeHealth.Older : NodeHealth.Lost);
    }

    /// <summary>Its lease ended before a viewer looked.</summary>
    public void MarkLost(DateTimeOffset at)
    {
        Fail("its lease is over", isOlder: false);
        var now = time.GetUtcNow();
        _heard = time.GetTimestamp() - (long)((now - at).TotalSeconds * time.TimestampFrequency);
        _heardMs = _sinceMs = at.ToUnixTimeMilliseconds();
    }

    /// <summary>Time has passed.</summary>
    public void Look()
    {
        if (Health is NodeHealth.Up or NodeHealth.Connecting && time.GetElapsedTime(_heard) >= Silence)
        {
            Fail("it does not answer", isOlder: false);
        }
    }

    /// <summary>Takes its <c>node.info</c>.</summary>
    public void TakeInfo(JsonElement data) => _version = Text(data, "version");

    /// <summary>Takes its <c>node.load</c>.</summary>
    public void TakeLoad(JsonElement data)
    {
        _sessions = Number(data, "sessions");
        _uplinks = Number(data, "uplinks");
        _streams = Number(data, "streams");
        _trouble = Text(data, "trouble") is { Length: > 0 } trouble ? trouble : null;
    }

    /// <summary>Takes a window.</summary>
    public void Take(CellMessage message)
    {
        (_sessions, _missed) = (message.Sessions, message.Missed);
        if (message.Seconds == 1)
        {
            _second = time.GetTimestamp();
            _last = message.Cell.ToResult(0, message.Start, 1);
        }
    }

    /// <summary>Writes the message.</summary>
    public void Write(Utf8JsonWriter json)
    {
        json.WriteStartObject();
        json.WriteString("node"u8, name);
        json.WriteBoolean("here"u8, isHere);
        json.WriteString("state"u8, Health switch
        {
            NodeHealth.Up => "up",
            NodeHealth.Lost => "lost",
            NodeHealth.Older => "older",
            _ => "connecting",
        });
        json.WriteNumber("sinceMs"u8, _sinceMs);
        json.WriteNumber("heardMs"u8, _heardMs);
        if ((_problem ?? _trouble) is { } text)
        {
            json.WriteString(_problem is null ? "trouble"u8 : "problem"u8, text);
        }

        json.WriteString("version"u8, _version);
        json.WriteNumber("sessions"u8, _sessions);
        json.WriteNumber("uplinks"u8, _uplinks);
        json.WriteNumber("streams"u8, _streams);
        json.WriteNumber("skipped"u8, Skipped);
        json.WriteStartObject("last"u8);

        // Of a lost node the last values stay; a node that answers and sends no window has no requests.
        WindowJson.WriteMembers(
            json, _last is { } last && (Health == NodeHealth.Lost || time.GetElapsedTime(_second) < _present) ? last : default);
        json.WriteEndObject();
        json.WriteEndObject();
    }

    private void Change(NodeHealth health)
    {
        if (Health != health)
        {
            Health = health;
            _sinceMs = time.GetUtcNow().ToUnixTimeMilliseconds();
        }
    }

    private static int Number(JsonElement data, string name) =>
        data.TryGetProperty(name, out var value) && value.ValueKind == JsonValueKind.Number && value.TryGetInt32(out var number)
            ? Math.Max(0, number) : 0;

    private static string Text(JsonElement data, string name)
    {
        const int Longest = 200;
        return data.TryGetProperty(name, out var value) && value.ValueKind == JsonValueKind.String && value.GetString() is { } text
            ? text[..Math.Min(text.Length, Longest)] : "";
    }
}
