using System.Buffers;
using System.Text.Json;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// Publishes windows as they close: <c>session.{name}.stats</c> for each session, <c>node.stats</c> for all together, with the window's
/// length as the key. For the feed's thread alone.
/// </summary>
internal sealed class StatisticsFeed : IWindowSink, IDisposable
{
    private readonly Hub _hub;
    private readonly SessionKeyTable _names;
    private readonly FeedCounters _counters;
    private readonly SessionStatusFeed _statuses;
    private readonly HubChannel _node;
    private readonly WindowCell _sum = new();
    private readonly ArrayBufferWriter<byte> _buffer = new(512);
    private readonly Utf8JsonWriter _json;
    private long _sumStart;
    private int _sumSeconds;

    public StatisticsFeed(Hub hub, SessionKeyTable names, FeedCounters counters, SessionStatusFeed statuses)
    {
        _hub = hub;
        _names = names;
        _counters = counters;
        _statuses = statuses;
        _node = hub.GetChannel("node.stats");
        _json = new Utf8JsonWriter(_buffer);
    }

    /// <inheritdoc/>
    public void OnWindow(int key, long start, int seconds, WindowCell cell)
    {
        if (_sumSeconds != 0 && (start != _sumStart || seconds != _sumSeconds))
        {
            EndOfWindows();
        }

        (_sumStart, _sumSeconds) = (start, seconds);
        _sum.Merge(cell);
        var name = _names.Name(key);
        if (name == RequestPublisher.NoSession)
        {
            return;
        }

        Publish(_statuses.ChannelOf(name, "stats"), cell.ToResult(key, start, seconds), cell, name);
    }

    /// <summary>The current window has no more cells.</summary>
    public void EndOfWindows()
    {
        if (_sumSeconds == 0)
        {
            return;
        }

        Publish(_node, _sum.ToResult(0, _sumStart, _sumSeconds), _sum, null);
        _sum.Clear();
        _sumSeconds = 0;
    }

    public void Dispose() => _json.Dispose();

    private void Publish(HubChannel channel, in WindowResult window, WindowCell cell, string? session)
    {
        var json = _json;
        json.WriteStartObject();
        if (session is not null)
        {
            json.WriteString("session"u8, session);
        }

        json.WriteNumber("startUs"u8, window.StartUnixMicroseconds);
        json.WriteNumber("seconds"u8, window.Seconds);
        WindowJson.WriteMembers(json, window);
        if (cell.ErrorsByCode is { } errors)
        {
            json.WriteStartObject("errorsByCode"u8);
            foreach (var (code, count) in errors)
            {
                json.WriteNumber(RequestErrorCodes.Name(code)!, count);
            }

            json.WriteEndObject();
        }

        if (session is null)
        {
            json.WriteNumber("sessions"u8, _statuses.Online);
            json.WriteNumber("missed"u8, _counters.Missed);
            json.WriteNumber("late"u8, _counters.Late);
            json.WriteNumber("unreadable"u8, _counters.Bad);
            json.WriteNumber("dropped"u8, _counters.Dropped);
        }

        json.WriteEndObject();
        json.Flush();
        _hub.Publish(channel, window.Seconds switch { 1 => "1s", 10 => "10s", _ => "1m" }, _buffer.WrittenSpan.ToArray());
        _buffer.ResetWrittenCount();
        json.Reset();
    }
}
