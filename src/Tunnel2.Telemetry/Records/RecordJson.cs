using System.Text;
using System.Text.Json;

namespace Tunnel2.Telemetry.Records;

/// <summary>
/// Writes a record as members of a JSON object: one form for <c>tunnel2 tap --json</c> and the hub (docs/live.md). Stateless.
/// </summary>
internal static class RecordJson
{
    /// <summary>Writes the members into the object that was begun.</summary>
    internal static void WriteMembers(Utf8JsonWriter json, in RequestRecord record)
    {
        Span<char> text = stackalloc char[256];
        json.WriteString("session"u8, Latin1(record.SessionName, text));
        json.WriteString("method"u8, RequestMethods.Name(record.Method));
        json.WriteString("target"u8, Latin1(record.Target, text));
        if ((record.Flags & RequestFlags.TargetTruncated) != 0)
        {
            json.WriteBoolean("targetTruncated"u8, true);
        }

        json.WriteNumber("status"u8, record.Status);
        if (RequestErrorCodes.Name(record.ErrorCode) is { } error)
        {
            json.WriteString("error"u8, error);
        }

        if (!record.FailedAt.IsEmpty)
        {
            json.WriteString("failedAt"u8, Latin1(record.FailedAt, text));
        }

        json.WriteNumber("startedUs"u8, record.StartedUnixMicroseconds);
        json.WriteNumber("queueUs"u8, record.QueueMicroseconds);
        json.WriteNumber("firstByteUs"u8, record.FirstByteMicroseconds);
        json.WriteNumber("bodyUs"u8, record.BodyMicroseconds);
        json.WriteNumber("totalUs"u8, record.TotalMicroseconds);
        json.WriteNumber("bytesIn"u8, record.BytesIn);
        json.WriteNumber("bytesOut"u8, record.BytesOut);
        json.WriteString("sessionId"u8, record.SessionId.ToString("x16", System.Globalization.CultureInfo.InvariantCulture));
        json.WriteNumber("uplink"u8, record.UplinkId);
        json.WriteNumber("stream"u8, record.StreamId);
        if ((record.Flags & RequestFlags.Upgraded) != 0)
        {
            json.WriteBoolean("upgraded"u8, true);
        }

        if ((record.Flags & RequestFlags.Interim) != 0)
        {
            json.WriteBoolean("open"u8, true);
        }
    }

    /// <summary>Characters are bytes, so a visitor's bytes beyond ASCII are shown and not lost.</summary>
    private static ReadOnlySpan<char> Latin1(ReadOnlySpan<byte> bytes, Span<char> buffer)
    {
        if (bytes.Length > buffer.Length)
        {
            return Encoding.Latin1.GetString(bytes);
        }

        return buffer[..Encoding.Latin1.GetChars(bytes, buffer)];
    }
}
