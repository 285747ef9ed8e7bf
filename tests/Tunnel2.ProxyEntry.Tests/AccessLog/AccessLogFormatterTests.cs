using System.Buffers;
using System.Net;
using System.Text;
using System.Text.Json;
using Tunnel2.Protocol.Frames;
using Tunnel2.ProxyEntry.AccessLog;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Tests.AccessLog;

public sealed class AccessLogFormatterTests
{
    [Fact]
    public void A_text_line_has_its_columns_in_order()
    {
        var line = Format(new TextAccessLogFormatter(), Sample("/a/b"));

        Assert.Equal(
            "2026-11-21T14:00:00.250Z web 203.0.113.9 198.51.100.1,%2010.0.0.1 GET /a/b 200 completed - 12.500 3.000 10 2048 "
                + "00c0ffee/1/65537 0HN:00000001\n",
            line);
    }

    [Fact]
    public void A_text_line_of_a_request_without_a_session_keeps_its_columns()
    {
        var record = Sample("/");
        record.HasSession = false;
        record.HasError = true;
        record.Error = ProxyError.UnknownName;
        record.Outcome = RequestOutcome.Error;
        record.Status = 404;
        record.UplinkIndex = -1;
        record.FirstByteTicks = -1;
        record.ForwardedForLength = 0;
        record.SetAddress(null);

        var columns = Format(new TextAccessLogFormatter(), record).TrimEnd('\n').Split(' ');

        Assert.Equal(
            ["web", "-", "-", "GET", "/", "404", "error", "unknown-name", "12.500", "-", "10", "2048", "-", "0HN:00000001"], columns[1..]);
    }

    [Fact]
    public void A_json_line_has_its_members()
    {
        using var formatter = new JsonAccessLogFormatter(0.25);
        using var json = JsonDocument.Parse(Format(formatter, Sample("/a?b=\"c\"")));
        var root = json.RootElement;

        Assert.Equal(new DateTime(2026, 11, 21, 14, 0, 0, 250, DateTimeKind.Utc), root.GetProperty("time").GetDateTime());
        Assert.Equal("web", root.GetProperty("name").GetString());
        Assert.Equal("203.0.113.9", root.GetProperty("visitor").GetString());
        Assert.Equal("/a?b=%22c%22", root.GetProperty("path").GetString());
        Assert.Equal(200, root.GetProperty("status").GetInt32());
        Assert.Equal(12.5, root.GetProperty("duration_ms").GetDouble());
        Assert.Equal(3, root.GetProperty("ttfb_ms").GetDouble());
        Assert.Equal(10, root.GetProperty("bytes_in").GetInt64());
        Assert.Equal(2048, root.GetProperty("bytes_out").GetInt64());
        Assert.Equal("00c0ffee", root.GetProperty("session").GetString());
        Assert.Equal(1, root.GetProperty("uplink").GetInt32());
        Assert.Equal("0HN:00000001", root.GetProperty("request_id").GetString());
        Assert.Equal(0.25, root.GetProperty("sample_rate").GetDouble());
        Assert.False(root.TryGetProperty("error", out _));
    }

    [Theory]
    [InlineData("/a\r\nGET /forged 200", "/a%0D%0AGET%20/forged%20200")]
    [InlineData("/\u001b[31mred", "/%1B[31mred")]
    [InlineData("/Ã¼", "/%C3%BC")]
    [InlineData("/\u009b2J", "/%9B2J")]
    [InlineData("/back\\slash\"", "/back%5Cslash%22")]
    public void Nothing_a_visitor_sends_breaks_out_of_its_place(string path, string expected)
    {
        using var formatter = new JsonAccessLogFormatter(null);
        var text = Format(new TextAccessLogFormatter(), Sample(path));
        var jsonLine = Format(formatter, Sample(path));

        Assert.Equal(expected, text.Split(' ')[5]);
        Assert.Equal(text.Length - 1, text.IndexOf('\n', StringComparison.Ordinal));
        Assert.Equal(jsonLine.Length - 1, jsonLine.IndexOf('\n', StringComparison.Ordinal));
        using var json = JsonDocument.Parse(jsonLine);
        Assert.Equal(expected, json.RootElement.GetProperty("path").GetString());
    }

    [Fact]
    public void The_longest_record_fits_into_a_line()
    {
        var record = Sample(new string('\0', 1000));
        record.IsPathCut = true;
        Assert.Equal(384, record.PathLength);
        record.NameLength = (byte)AccessLogRecord.Copy(new string('\n', 300), record.Name);
        record.MethodLength = (byte)AccessLogRecord.Copy(new string('\n', 300), record.Method);
        record.ForwardedForLength = (byte)AccessLogRecord.Copy(new string('\n', 300), record.ForwardedFor);
        record.RequestIdLength = (byte)AccessLogRecord.Copy(new string('\n', 300), record.RequestId);
        record.BytesIn = record.BytesOut = record.DurationTicks = record.FirstByteTicks = long.MaxValue;
        using var formatter = new JsonAccessLogFormatter(null);

        var columns = Format(new TextAccessLogFormatter(), record).Split(' ');
        using var json = JsonDocument.Parse(Format(formatter, record));

        Assert.Equal(15, columns.Length);
        Assert.EndsWith("%00...", columns[5], StringComparison.Ordinal);
        Assert.True(json.RootElement.GetProperty("path_cut").GetBoolean());
    }

    [Fact]
    public void An_IPv4_visitor_of_a_dual_socket_is_shown_as_IPv4()
    {
        var record = Sample("/");
        record.SetAddress(IPAddress.Parse("::ffff:192.0.2.7"));
        Assert.Equal("192.0.2.7", record.GetAddress()!.ToString());
        record.SetAddress(IPAddress.Parse("2001:db8::7"));
        Assert.Equal("2001:db8::7", record.GetAddress()!.ToString());
    }

    private static AccessLogRecord Sample(string path)
    {
        var record = new AccessLogRecord
        {
            EndedTicks = new DateTime(2026, 11, 21, 14, 0, 0, 250, DateTimeKind.Utc).Ticks,
            DurationTicks = TimeSpan.FromMilliseconds(12.5).Ticks,
            FirstByteTicks = TimeSpan.FromMilliseconds(3).Ticks,
            BytesIn = 10,
            BytesOut = 2048,
            Stream = new StreamId(65537),
            HasSession = true,
            Session = 0x00C0FFEE,
            UplinkIndex = 1,
            Status = 200,
            Outcome = RequestOutcome.Completed,
        };
        record.SetAddress(IPAddress.Parse("203.0.113.9"));
        record.NameLength = (byte)AccessLogRecord.Copy("web", record.Name);
        record.MethodLength = (byte)AccessLogRecord.Copy("GET", record.Method);
        record.RequestIdLength = (byte)AccessLogRecord.Copy("0HN:00000001", record.RequestId);
        record.ForwardedForLength = (byte)AccessLogRecord.Copy("198.51.100.1, 10.0.0.1", record.ForwardedFor);
        record.PathLength = (short)AccessLogRecord.Copy(path, record.Path);
        return record;
    }

    private static string Format(IAccessLogFormatter formatter, in AccessLogRecord record)
    {
        var output = new ArrayBufferWriter<byte>();
        formatter.Write(record, output);
        return Encoding.ASCII.GetString(output.WrittenSpan);
    }
}
