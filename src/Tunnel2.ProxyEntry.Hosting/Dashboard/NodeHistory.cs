using System.Globalization;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>
/// The last fifteen minutes in samples of five seconds, on <c>node.history</c>: the channel keeps one message for each, so a page that
/// subscribes gets all of them at once. A time for which nothing is known has no sample. Not thread-safe.
/// </summary>
internal sealed class NodeHistory : IDisposable
{
    /// <summary>Length of a sample.</summary>
    public const int Seconds = 5;

    /// <summary>How many samples are kept.</summary>
    public const int Samples = 15 * 60 / Seconds;

    private const long Length = Seconds * WatermarkFilter.Second;

    private static readonly string[] _keys =
    [
        .. Enumerable.Range(0, Samples).Select(static i => i.ToString(CultureInfo.InvariantCulture)),
    ];

    private readonly Hub _hub;
    private readonly HubChannel _channel;
    private readonly HubMessageWriter _message = new();
    private readonly WindowCell _cell = new();
    private long _start = long.MinValue;
    private long _from;

    public NodeHistory(Hub hub)
    {
        _hub = hub;
        _channel = hub.GetChannel("node.history");
    }

    /// <summary>Sessions that are registered.</summary>
    public int Sessions { get; set; }

    /// <summary>The last reading of the process; null where there is none.</summary>
    public NodeReading? Reading { get; set; }

    /// <summary>A window of one second, of all sessions together; windows come in their order.</summary>
    public void Add(long start, WindowCell second)
    {
        AdvanceTo(start);
        if (StartOf(start) == _start)
        {
            _cell.Merge(second);
        }
    }

    /// <summary>
    /// No more windows will come that end at or before <paramref name="watermark"/>, µs since 1970: publishes the sample when it is
    /// complete.
    /// </summary>
    public void AdvanceTo(long watermark)
    {
        if (_start == long.MinValue)
        {
            // The first sample is shorter: what was before is not known.
            _start = StartOf(watermark);
            _from = watermark - (watermark % WatermarkFilter.Second);
        }

        if (watermark < _start + Length)
        {
            return;
        }

        var json = _message.Begin();
        json.WriteStartObject();
        json.WriteNumber("startMs"u8, _from / 1000);
        json.WriteNumber("seconds"u8, (_start + Length - _from) / WatermarkFilter.Second);
        WindowJson.WriteMembers(json, _cell.ToResult(0, _start, Seconds));
        ErrorsJson.WriteMember(json, _cell.ErrorsByCode);
        json.WriteNumber("sessions"u8, Sessions);
        if (Reading is { } reading)
        {
            NodeReadingJson.WriteMembers(json, reading);
        }

        json.WriteEndObject();
        _hub.Publish(_channel, _keys[(int)(_start / Length % Samples)], _message.End());
        _cell.Clear();

        // After a jump of the clock the time between has no sample.
        _from = _start = Math.Max(_start + Length, StartOf(watermark));
    }

    /// <summary>The clock was set back: what comes begins a sample, and the one that had begun is given up.</summary>
    public void SetBack()
    {
        _start = long.MinValue;
        _cell.Clear();
    }

    public void Dispose() => _message.Dispose();

    private static long StartOf(long time) => time - (time % Length);
}
