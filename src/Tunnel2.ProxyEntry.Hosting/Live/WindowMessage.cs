using System.Buffers;
using System.Text.Json;
using Tunnel2.ProxyEntry.Dashboard;
using Tunnel2.Telemetry.Aggregation;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>Writes a window as a message's JSON (docs/live.md). Not thread-safe.</summary>
internal sealed class WindowMessage : IDisposable
{
    private readonly ArrayBufferWriter<byte> _buffer = new(512);
    private readonly Utf8JsonWriter _json;

    public WindowMessage()
    {
        _json = new Utf8JsonWriter(_buffer);
    }

    /// <summary>The key of a window's message.</summary>
    public static string Key(int seconds) => seconds switch { 1 => "1s", 10 => "10s", _ => "1m" };

    /// <summary>A session's window.</summary>
    public byte[] OfSession(string session, in WindowResult window, WindowCell cell)
    {
        _json.WriteStartObject();
        _json.WriteString("session"u8, session);
        WriteStatistics(window, cell);
        return End();
    }

    /// <summary>The window of all sessions together.</summary>
    public byte[] OfNode(in WindowResult window, WindowCell cell, int online, FeedCounters counters)
    {
        _json.WriteStartObject();
        WriteStatistics(window, cell);
        _json.WriteNumber("sessions"u8, online);
        _json.WriteNumber("missed"u8, counters.Missed);
        _json.WriteNumber("late"u8, counters.Late);
        _json.WriteNumber("unreadable"u8, counters.Bad);
        _json.WriteNumber("dropped"u8, counters.Dropped);
        return End();
    }

    /// <summary>The window of all nodes of a cluster together.</summary>
    public byte[] OfCluster(in WindowResult window, WindowCell cell, int nodes, int online, long missed)
    {
        _json.WriteStartObject();
        WriteStatistics(window, cell);
        _json.WriteNumber("nodes"u8, nodes);
        _json.WriteNumber("sessions"u8, online);
        _json.WriteNumber("missed"u8, missed);
        _json.WriteNumber("dropped"u8, 0);
        return End();
    }

    public void Dispose() => _json.Dispose();

    private void WriteStatistics(in WindowResult window, WindowCell cell)
    {
        _json.WriteNumber("startUs"u8, window.StartUnixMicroseconds);
        _json.WriteNumber("seconds"u8, window.Seconds);
        WindowJson.WriteMembers(_json, window);
        ErrorsJson.WriteMember(_json, cell.ErrorsByCode);
    }

    private byte[] End()
    {
        _json.WriteEndObject();
        _json.Flush();
        var bytes = _buffer.WrittenSpan.ToArray();
        _buffer.ResetWrittenCount();
        _json.Reset();
        return bytes;
    }
}
