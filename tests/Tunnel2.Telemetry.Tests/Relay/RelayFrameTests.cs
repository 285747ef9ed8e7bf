using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Relay;

namespace Tunnel2.Telemetry.Tests.Relay;

public sealed class RelayFrameTests
{
    [Fact]
    public void The_hello_has_these_golden_bytes()
    {
        byte[] frame = new byte[64];
        int length = RelayFrame.WriteHello(frame, 0x0807060504030201, 42);
        Assert.Equal(
            "18000000"
                + "01000000" + Convert.ToHexString(frame, 8, 4) + "54324552" + "0100" + "0000" + "0102030405060708" + "2A00000000000000",
            Convert.ToHexString(frame, 0, length));
    }

    [Fact]
    public void A_frame_is_recognised_only_when_whole_and_only_when_intact()
    {
        byte[] frame = new byte[64];
        int length = RelayFrame.WriteGap(frame, new RingGap(7, 3, RingGapReason.Corrupt));
        for (int i = 0; i < length; i++)
        {
            Assert.Equal(0, RelayFrame.TryRead(frame.AsSpan(0, i), out _, out _));
        }

        Assert.Equal(length, RelayFrame.TryRead(frame, out RelayFrameKind kind, out ReadOnlySpan<byte> body));
        Assert.Equal(RelayFrameKind.Gap, kind);
        Assert.Equal(17, body.Length);
        for (int i = 4; i < length; i++)
        {
            frame[i] ^= 1;
            Assert.Equal(-1, RelayFrame.TryRead(frame, out _, out _));
            frame[i] ^= 1;
        }
    }

    [Theory]
    [InlineData(-1)]
    [InlineData(RelayFrame.MaxBody + 1)]
    public void A_length_out_of_range_is_refused_from_the_header(int length)
    {
        byte[] header = new byte[RelayFrame.HeaderLength];
        BitConverter.TryWriteBytes(header, length);
        Assert.Equal(-1, RelayFrame.TryRead(header, out _, out _));
    }

    [Fact]
    public void The_delay_doubles_to_its_limit_with_jitter_in_the_upper_half()
    {
        var options = new RelayClientOptions { Server = new System.Net.IPEndPoint(0, 0) };
        Assert.Equal(
            [100, 200, 400, 800, 1600, 3200, 5000, 5000], Enumerable.Range(0, 8).Select(i => (int)options.Delay(i, 1).TotalMilliseconds));
        Assert.Equal(50, options.Delay(0, 0).TotalMilliseconds);
        Assert.Equal(2500, options.Delay(1000, 0).TotalMilliseconds);
    }
}
