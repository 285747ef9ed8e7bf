using System.Buffers.Binary;
using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using Tunnel2.Laboratory.EventRing;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.MessageStore;
using Tunnel2.Telemetry.Recording;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.Relay;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.Telemetry.Tests.EventRing;
using Tunnel2.TestUtilities;

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
    public void The_header_of_a_ring_is_as_documented()
    {
        byte[] documented = Documented("ring");
        byte[] page = new byte[EventRingLayout.PageSize];
        EventRingHeader.Write(page, new EventRingOptions(), 1_700_000_000_000);
        documented.AsSpan(32, 8).CopyTo(page.AsSpan(32));
        BinaryPrimitives.WriteUInt32LittleEndian(page.AsSpan(48), Crc32C.Compute(page.AsSpan(0, 48)));
        Check("ring", page.AsSpan(0, 52));
        documented.CopyTo(page, 0);
        Assert.Equal(EventRingOpenError.None, EventRingHeader.Read(page, long.MaxValue, out EventRingHeader header));
        Assert.Equal(new EventRingHeader(256, 65_536, 8, EventRingPolicy.OverwriteOldest, true, 0x0102_0304_0506_0709), header);
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
        Assert.Equal(RelayStatus.Accepted, RelayFrame.ReadHello(kind, body, out _, out _, out ReadOnlySpan<byte> token));
        Assert.True(token.IsEmpty);
    }

    [Fact]
    public void The_hello_with_a_token_is_as_documented()
    {
        byte[] frame = new byte[64];
        Check("hello-token", frame.AsSpan(0, RelayFrame.WriteHello(frame, 0, EventRingReaderOptions.FromOldest, "s3cret"u8)));
        RelayFrame.TryRead(Documented("hello-token"), out RelayFrameKind kind, out ReadOnlySpan<byte> body);
        Assert.Equal(RelayStatus.Accepted, RelayFrame.ReadHello(kind, body, out _, out long from, out ReadOnlySpan<byte> token));
        Assert.Equal(EventRingReaderOptions.FromOldest, from);
        Assert.Equal("s3cret", Encoding.ASCII.GetString(token));
    }

    [Fact]
    public void The_frames_of_the_relay_are_as_documented()
    {
        byte[] frame = new byte[256];
        Check("welcome", frame.AsSpan(0, RelayFrame.WriteWelcome(frame, RelayStatus.Accepted, 0x0102_0304_0506_0709, 16)));
        var batch = new RingBatch(2, 64);
        Assert.True(batch.TryAdd((ushort)RecordType.Request, "abc"u8) && batch.TryAdd((ushort)RecordType.Request, "d"u8));
        Check("records", frame.AsSpan(0, RelayFrame.WriteRecords(frame, batch, 2)));
        Check("gap", frame.AsSpan(0, RelayFrame.WriteGap(frame, new RingGap(18, 5, RingGapReason.Overwritten))));
        Check("slow", frame.AsSpan(0, RelayFrame.WriteNumbers(frame, RelayFrameKind.SlowWarning, 5_000_000, 8_388_608)));
        Check("heartbeat", frame.AsSpan(0, RelayFrame.WriteNumbers(frame, RelayFrameKind.Heartbeat, 23, 0)));
        foreach ((string block, RelayFrameKind kind) in new[]
        {
            ("welcome", RelayFrameKind.Welcome), ("records", RelayFrameKind.Records), ("gap", RelayFrameKind.Gap),
            ("slow", RelayFrameKind.SlowWarning), ("heartbeat", RelayFrameKind.Heartbeat),
        })
        {
            Assert.Equal(Documented(block).Length, RelayFrame.TryRead(Documented(block), out RelayFrameKind read, out _));
            Assert.Equal(kind, read);
        }
    }

    [Fact]
    public void The_header_of_a_recording_is_as_documented()
    {
        byte[] header = new byte[RecordingFormat.HeaderLength];
        RecordingFormat.WriteHeader(header);
        Check("recording", header);
    }

    [Fact]
    public void The_frame_of_a_message_is_as_documented()
    {
        var channel = new HubChannel("a.b", new SubscriptionIndex(), static _ => new StripedMessageStore<HubMessage>());
        Check("message", channel.MessageFrame("k", new HubMessage("{}"u8.ToArray()) { Sequence = 1 }));
    }

    private static void Check(string block, ReadOnlySpan<byte> written)
    {
        string hex = Hex(written);
        Assert.True(hex == Hex(Documented(block)), $"{block} is written as {hex}");
    }

    private static string Hex(ReadOnlySpan<byte> bytes) => Convert.ToHexString(bytes);

    private static byte[] Documented(string block)
    {
        string text = File.ReadAllText(Path.Combine(RepositoryFolder.Path, "docs", "live.md"));
        Match match = Block(block).Match(text);
        Assert.True(match.Success, $"docs/live.md has no block of bytes named {block}.");
        return
        [
            .. match.Groups[1].Value.Split([' ', '\n'], StringSplitOptions.RemoveEmptyEntries).Select(
                b => byte.Parse(b, NumberStyles.HexNumber, CultureInfo.InvariantCulture)),
        ];
    }

    private static Regex Block(string name) => new($"```hex {name}\n(.*?)```", RegexOptions.Singleline);

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
