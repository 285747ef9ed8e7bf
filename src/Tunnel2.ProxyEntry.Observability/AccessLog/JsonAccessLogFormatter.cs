using System.Buffers;
using System.Text.Encodings.Web;
using System.Text.Json;
using Tunnel2.ProxyEntry.Errors;

namespace Tunnel2.ProxyEntry.AccessLog;

/// <summary>
/// A JSON object per line. Members' names are a contract: only additions are allowed. Values that do not apply are left out.
/// </summary>
internal sealed class JsonAccessLogFormatter : IAccessLogFormatter, IDisposable
{
    private readonly Utf8JsonWriter _json = new(
        Stream.Null, new JsonWriterOptions { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping, SkipValidation = true });
    private readonly byte[] _safe = new byte[LogSafe.MaxLength(384)];
    private readonly char[] _address = new char[65];
    private readonly double? _sampleRate;

    /// <summary>Makes a formatter.</summary>
    /// <param name="sampleRate">The share of requests that get a line, which each line has as a member; null when all get one.</param>
    public JsonAccessLogFormatter(double? sampleRate)
    {
        _sampleRate = sampleRate;
    }

    /// <inheritdoc/>
    public void Write(in AccessLogRecord record, IBufferWriter<byte> output)
    {
        _json.Reset(output);
        _json.WriteStartObject();
        _json.WriteString("time"u8, new DateTime(record.EndedTicks, DateTimeKind.Utc));
        WriteSafe(record.HasSession ? "name"u8 : "host"u8, ((ReadOnlySpan<byte>)record.Name)[..record.NameLength]);
        if (record.GetAddress() is { } address && address.TryFormat(_address, out var length))
        {
            _json.WriteString("visitor"u8, _address.AsSpan(0, length));
        }

        WriteSafe("forwarded_for"u8, ((ReadOnlySpan<byte>)record.ForwardedFor)[..record.ForwardedForLength]);
        WriteSafe("method"u8, ((ReadOnlySpan<byte>)record.Method)[..record.MethodLength]);
        WriteSafe("path"u8, ((ReadOnlySpan<byte>)record.Path)[..record.PathLength]);
        if (record.IsPathCut)
        {
            _json.WriteBoolean("path_cut"u8, true);
        }

        if (record.Status != 0)
        {
            _json.WriteNumber("status"u8, record.Status);
        }

        _json.WriteString("outcome"u8, AccessLogWords.Of(record.Outcome));
        if (record.HasError)
        {
            var info = ProxyErrorCatalog.Get(record.Error);
            _json.WriteString("error"u8, info.Code);
            _json.WriteString("leg"u8, info.LegName);
        }

        _json.WriteNumber("duration_ms"u8, Milliseconds(record.DurationTicks));
        if (record.FirstByteTicks >= 0)
        {
            _json.WriteNumber("ttfb_ms"u8, Milliseconds(record.FirstByteTicks));
        }

        _json.WriteNumber("bytes_in"u8, record.BytesIn);
        _json.WriteNumber("bytes_out"u8, record.BytesOut);
        if (record.HasSession)
        {
            Span<byte> session = stackalloc byte[8];
            record.Session.TryFormat(session, out _, "x8");
            _json.WriteString("session"u8, session);
        }

        if (record.UplinkIndex >= 0)
        {
            _json.WriteNumber("uplink"u8, record.UplinkIndex);
            _json.WriteNumber("stream"u8, record.Stream.Value);
        }

        WriteSafe("request_id"u8, ((ReadOnlySpan<byte>)record.RequestId)[..record.RequestIdLength]);
        if (_sampleRate is { } rate)
        {
            _json.WriteNumber("sample_rate"u8, rate);
        }

        EndLine(output);
    }

    /// <inheritdoc/>
    public void WriteDropped(DateTime time, long count, IBufferWriter<byte> output)
    {
        _json.Reset(output);
        _json.WriteStartObject();
        _json.WriteString("time"u8, time);
        _json.WriteNumber("lines_dropped"u8, count);
        EndLine(output);
    }

    /// <inheritdoc/>
    public void Dispose() => _json.Dispose();

    private void EndLine(IBufferWriter<byte> output)
    {
        _json.WriteEndObject();
        _json.Flush();
        output.Write("\n"u8);
    }

    private void WriteSafe(ReadOnlySpan<byte> name, ReadOnlySpan<byte> text)
    {
        if (!text.IsEmpty)
        {
            _json.WriteString(name, _safe.AsSpan(0, LogSafe.Write(text, _safe)));
        }
    }

    private static double Milliseconds(long ticks) => Math.Round(ticks / (double)TimeSpan.TicksPerMillisecond, 3);
}
