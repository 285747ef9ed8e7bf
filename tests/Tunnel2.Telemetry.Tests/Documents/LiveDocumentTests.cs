using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.RegularExpressions;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Recording;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.Relay;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.Telemetry.Tests.EventRing;

namespace Tunnel2.Telemetry.Tests.Documents;

/// <summary>The bytes in docs/live.md are what the code writes.</summary>
public sealed class LiveDocumentTests
{
    private static readonly RequestRecordBytes _record = new();

    [Fact]
    public void The_record_is_as_documented()
    {
        Check("record", _record.Bytes);
        Assert.Equal(RecordDecodeStatus.Ok, RequestRecordCodec.Decode(Documented("record"), out RequestRecord record));
        Assert.Equal((200, 1500u), (record.Status, record.TotalMicroseconds));
    }

    [Fact]
    public unsafe void The_slot_of_a_ring_is_as_documented()
    {
        using var f = new RingFixture();
        f.Ring.CreateProducer().TryPublish((ushort)RecordType.Request, _record.Bytes);
        Check("slot", new ReadOnlySpan<byte>(f.Ring.Slot(0), 16));
    }

    [Fact]
    public void The_hello_of_the_relay_is_as_documented()
    {
        byte[] frame = new byte[64];
        Check("hello", frame.AsSpan(0, RelayFrame.WriteHello(frame, 0, EventRingReaderOptions.FromOldest)));
        RelayFrame.TryRead(Documented("hello"), out RelayFrameKind kind, out ReadOnlySpan<byte> body);
        Assert.Equal(RelayStatus.Accepted, RelayFrame.ReadHello(kind, body, out _, out _));
    }

    [Fact]
    public void The_header_of_a_recording_is_as_documented()
    {
        byte[] header = new byte[RecordingFormat.HeaderLength];
        RecordingFormat.WriteHeader(header);
        Check("recording", header);
    }

    [Fact]
    public void The_frame_of_a_message_is_as_documented() =>
        Check("message", new HubChannel("a.b").MessageFrame("k", new HubMessage(1, "{}"u8.ToArray())));

    private static void Check(string block, ReadOnlySpan<byte> written) => Assert.Equal(Hex(Documented(block)), Hex(written));

    private static string Hex(ReadOnlySpan<byte> bytes) => Convert.ToHexString(bytes);

    private static byte[] Documented(string block)
    {
        string text = File.ReadAllText(Path.Combine(Root(), "docs", "live.md"));
        Match match = Block(block).Match(text);
        Assert.True(match.Success, $"docs/live.md has no block of bytes named {block}.");
        return [.. match.Groups[1].Value.Split([' ', '\n'], StringSplitOptions.RemoveEmptyEntries).Select(b => byte.Parse(b, NumberStyles.HexNumber, CultureInfo.InvariantCulture))];
    }

    private static Regex Block(string name) => new($"```hex {name}\n(.*?)```", RegexOptions.Singleline);

    private static string Root([CallerFilePath] string file = "") => Path.GetFullPath(Path.Combine(Path.GetDirectoryName(file)!, "../../.."));

    private sealed class RequestRecordBytes
    {
        internal RequestRecordBytes()
        {
            byte[] buffer = new byte[240];
            var record = new RequestRecord
            {
                SessionName = Encoding.ASCII.GetBytes("web"),
                Target = Encoding.ASCII.GetBytes("/x"),
                Method = RequestMethod.Get,
                Status = 200,
                StartedUnixMicroseconds = 1_795_000_000_000_000,
                QueueMicroseconds = 100,
                FirstByteMicroseconds = 1000,
                BodyMicroseconds = 500,
                TotalMicroseconds = 1500,
                BytesOut = 5,
                SessionId = 0x0102030405060708,
                StreamId = 0x00020001,
            };
            Bytes = buffer[..RequestRecordCodec.Encode(buffer, record)];
        }

        internal byte[] Bytes { get; }
    }
}
