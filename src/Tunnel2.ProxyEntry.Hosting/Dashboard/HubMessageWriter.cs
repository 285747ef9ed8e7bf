using System.Buffers;
using System.Text.Json;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>Writes one message's JSON after another into the same memory. Not thread-safe.</summary>
internal sealed class HubMessageWriter : IDisposable
{
    private readonly ArrayBufferWriter<byte> _buffer = new(1024);

    public HubMessageWriter() => Json = new Utf8JsonWriter(_buffer);

    /// <summary>Where the present message is written.</summary>
    public Utf8JsonWriter Json { get; }

    /// <summary>Begins a message. What a fault has left of the one before is dropped.</summary>
    public Utf8JsonWriter Begin()
    {
        Clear();
        return Json;
    }

    /// <summary>Ends the present message.</summary>
    /// <returns>A copy, for the hub to keep.</returns>
    public byte[] End()
    {
        Json.Flush();
        var bytes = _buffer.WrittenSpan.ToArray();
        Clear();
        return bytes;
    }

    public void Dispose() => Json.Dispose();

    private void Clear()
    {
        _buffer.ResetWrittenCount();
        Json.Reset();
    }
}
