using System.Buffers.Binary;
using Tunnel2.ProxyEntry.WebSockets;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.WebSockets;

public sealed class WebSocketFrameTrackerTests
{
    [Fact]
    public void Boundaries_are_found_with_any_frames_and_however_they_are_cut() => SeededRandom.Run(random =>
    {
        for (var round = 0; round < 200; round++)
        {
            var bytes = new List<byte>();
            var boundaries = new HashSet<int> { 0 };
            for (var i = random.Next(1, 12); i > 0; i--)
            {
                bytes.AddRange(Frame(random, opcode: random.Next(3)));
                boundaries.Add(bytes.Count);
            }

            var stream = bytes.ToArray();
            var tracker = new WebSocketFrameTracker();
            for (var at = 0; at < stream.Length;)
            {
                Assert.Equal(boundaries.Contains(at), tracker.IsAtBoundary);
                var length = Math.Min(random.Next(1, 1 << random.Next(1, 12)), stream.Length - at);
                var stops = random.Next(2) == 0;
                var taken = tracker.Advance(stream.AsSpan(at, length), stops);
                var next = boundaries.Where(boundary => boundary > at).Min();
                Assert.Equal(stops ? Math.Min(length, next - at) : length, taken);
                at += taken;
            }

            Assert.True(tracker.IsAtBoundary);
            Assert.False(tracker.HasClosed || tracker.IsBroken);
        }
    });

    [Fact]
    public void A_close_frame_is_noticed_from_its_header_on()
    {
        var tracker = new WebSocketFrameTracker();
        tracker.Advance([0x88], false);
        Assert.False(tracker.HasClosed);
        tracker.Advance([0x02], false);
        Assert.True(tracker.HasClosed);
        Assert.False(tracker.IsAtBoundary);
        tracker.Advance([0x03, 0xE8], false);
        Assert.True(tracker.IsAtBoundary);
    }

    [Theory]
    [InlineData(new byte[] { 0x82, 0x7E, 0x00, 0x00 })]
    [InlineData(new byte[] { 0x82, 0x7F, 0, 0, 0, 0, 0, 0, 0, 0 })]
    [InlineData(new byte[] { 0x89, 0x00 })]
    [InlineData(new byte[] { 0x82, 0x80, 1, 2, 3, 4 })]
    public void An_empty_payload_ends_with_its_header(byte[] frame)
    {
        var tracker = new WebSocketFrameTracker();
        foreach (var value in frame)
        {
            Assert.Equal(1, tracker.Advance([value], true));
        }

        Assert.True(tracker.IsAtBoundary);
    }

    [Fact]
    public void A_length_that_cannot_be_is_no_frame()
    {
        var tracker = new WebSocketFrameTracker();
        Assert.Equal(20, tracker.Advance([0x82, 0x7F, 0x80, 0, 0, 0, 0, 0, 0, 0, .. new byte[10]], true));
        Assert.True(tracker.IsBroken);
    }

    private static byte[] Frame(SeededRandom random, int opcode)
    {
        var length = random.Next(4) switch
        {
            0 => 0,
            1 => random.Next(126),
            2 => random.Next(126, 65_536),
            _ => random.Next(65_536, 70_000),
        };
        var isMasked = random.Next(4) == 0;
        var mask = (byte)(isMasked ? 0x80 : 0);
        var head = new byte[10];
        head[0] = (byte)((random.Next(2) << 7) | opcode);
        if (length < 126)
        {
            head[1] = (byte)(mask | length);
            head = head[..2];
        }
        else if (length < 65_536)
        {
            head[1] = (byte)(mask | 126);
            BinaryPrimitives.WriteUInt16BigEndian(head.AsSpan(2), (ushort)length);
            head = head[..4];
        }
        else
        {
            head[1] = (byte)(mask | 127);
            BinaryPrimitives.WriteUInt64BigEndian(head.AsSpan(2), (ulong)length);
        }

        return [.. head, .. random.NextBytes(isMasked ? 4 : 0), .. random.NextBytes(length)];
    }
}
