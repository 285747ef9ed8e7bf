using System.Text.Json;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// A window of a node with its whole histogram, so that the windows of several nodes can be added up: a message of <c>node.cells</c>
/// (docs/live.md).
/// </summary>
/// <param name="Start">Its start, µs since 1970 by the node's clock.</param>
/// <param name="Seconds">Its length.</param>
/// <param name="Sessions">Sessions that are registered at the node.</param>
/// <param name="Missed">Requests that its statistics miss.</param>
/// <param name="Cell">The statistics.</param>
internal sealed record CellMessage(long Start, int Seconds, int Sessions, long Missed, WindowCell Cell)
{
    /// <summary>The channel.</summary>
    public const string Channel = "node.cells";

    /// <summary>Writes it.</summary>
    public void Write(Utf8JsonWriter json)
    {
        json.WriteStartObject();
        json.WriteNumber("startUs"u8, Start);
        json.WriteNumber("seconds"u8, Seconds);
        json.WriteNumber("sessions"u8, Sessions);
        json.WriteNumber("missed"u8, Missed);
        json.WriteNumber("requests"u8, Cell.Requests);
        json.WriteNumber("bytesIn"u8, Cell.BytesIn);
        json.WriteNumber("bytesOut"u8, Cell.BytesOut);
        json.WriteStartArray("latencies"u8);
        var latencies = Cell.Latencies;
        for (var i = 0; i < latencies.Length; i++)
        {
            if (latencies[i] > 0)
            {
                json.WriteNumberValue(i);
                json.WriteNumberValue(latencies[i]);
            }
        }

        json.WriteEndArray();
        json.WriteStartArray("errors"u8);
        foreach (var (code, count) in Cell.ErrorsByCode ?? new Dictionary<ushort, long>())
        {
            json.WriteNumberValue(code);
            json.WriteNumberValue(count);
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }

    /// <summary>Reads one. Members and codes of later releases do not disturb it.</summary>
    /// <returns>Null when it is none.</returns>
    public static CellMessage? Read(JsonElement data)
    {
        try
        {
            var cell = new WindowCell();
            cell.AddTotals(
                Count(data.GetProperty("requests")), data.GetProperty("bytesIn").GetUInt64(), data.GetProperty("bytesOut").GetUInt64());
            var latencies = data.GetProperty("latencies");
            for (var i = 0; i + 1 < latencies.GetArrayLength(); i += 2)
            {
                cell.AddLatencies(latencies[i].GetInt32(), latencies[i + 1].GetUInt32());
            }

            var errors = data.GetProperty("errors");
            for (var i = 0; i + 1 < errors.GetArrayLength(); i += 2)
            {
                var code = errors[i].GetUInt16();
                cell.AddErrors(code == RequestErrorCodes.None ? RequestErrorCodes.Other : code, Count(errors[i + 1]));
            }

            var seconds = data.GetProperty("seconds").GetInt32();
            return seconds is 1 or 10 or 60
                ? new CellMessage(
                    Count(data.GetProperty("startUs")), seconds, data.GetProperty("sessions").GetInt32(),
                    Count(data.GetProperty("missed")), cell)
                : null;
        }
        catch (Exception exception) when (exception is KeyNotFoundException or InvalidOperationException or FormatException
            or IndexOutOfRangeException)
        {
            return null;
        }
    }

    private static long Count(JsonElement number) =>
        number.GetInt64() is >= 0 and < long.MaxValue / 1024 and var count ? count : throw new FormatException("out of range");
}
