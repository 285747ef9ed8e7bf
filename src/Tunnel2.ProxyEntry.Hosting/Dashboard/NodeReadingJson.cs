using System.Text.Json;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>
/// Writes a reading as members of a JSON object: one form for <c>node.load</c> and <c>node.history</c> (docs/live.md). Stateless.
/// </summary>
internal static class NodeReadingJson
{
    public static void WriteMembers(Utf8JsonWriter json, NodeReading reading)
    {
        var uplinks = reading.Uplinks;
        json.WriteNumber("uplinks"u8, uplinks.Uplinks);
        json.WriteNumber("streams"u8, uplinks.Streams);
        json.WriteNumber("waiting"u8, uplinks.WaitingStreams);
        json.WriteNumber("outstanding"u8, uplinks.OutstandingBytes);
        json.WriteNumber("stalled"u8, uplinks.Stalled);
        json.WriteNumber("rttUs"u8, (long)uplinks.RoundTrip.TotalMicroseconds);
        json.WriteNumber("rttMaxUs"u8, (long)uplinks.LongestRoundTrip.TotalMicroseconds);
        json.WriteStartArray("loops"u8);
        foreach (var share in reading.Loops)
        {
            json.WriteNumberValue(Math.Round(share, 3));
        }

        json.WriteEndArray();
        json.WriteNumber("processors"u8, Math.Round(reading.Processors, 3));
        json.WriteNumber("memoryBytes"u8, reading.MemoryBytes);
        json.WriteNumber("heapBytes"u8, reading.HeapBytes);
        json.WriteNumber("heldBytes"u8, reading.HeldBytes);
        json.WriteNumber("heldLimit"u8, reading.HeldLimit);
        json.WriteNumber("parked"u8, reading.Parked);
    }
}
