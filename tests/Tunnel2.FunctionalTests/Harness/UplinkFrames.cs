using System.Buffers.Binary;
using System.Text;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>Frames made by hand, also ones that no peer may send.</summary>
internal static class UplinkFrames
{
    public static byte[] Make(FrameType type, FrameFlags flags, StreamId stream, ReadOnlySpan<byte> payload)
    {
        var frame = new byte[FrameHeader.Size + payload.Length];
        new FrameHeader(payload.Length, type, flags, stream).Write(frame);
        payload.CopyTo(frame.AsSpan(FrameHeader.Size));
        return frame;
    }

    /// <summary>A header that announces a payload which does not follow.</summary>
    public static byte[] Announce(FrameType type, StreamId stream, int length)
    {
        var frame = new byte[FrameHeader.Size];
        new FrameHeader(length, type, FrameFlags.None, stream).Write(frame);
        return frame;
    }

    public static byte[] Request(
        StreamId stream, string target = "/", string method = "GET", string body = "", bool end = true,
        HeaderBlockFlags flags = HeaderBlockFlags.None,
        params (string Name, string Value)[] fields)
    {
        var block = new byte[ProtocolLimits.MaxHeaderBlockLength];
        var writer = new HeaderBlockWriter(block);
        writer.BeginRequest(flags, method, "http", "web.localhost", target);
        return Headers(stream, ref writer, block, fields, body, end);
    }

    public static byte[] Response(
        StreamId stream, int status = 200, string reason = "OK", string body = "", bool end = true,
        params (string Name, string Value)[] fields)
    {
        var block = new byte[ProtocolLimits.MaxHeaderBlockLength];
        var writer = new HeaderBlockWriter(block);
        writer.BeginResponse(status == 101 ? HeaderBlockFlags.Upgrade : HeaderBlockFlags.None, status, Encoding.Latin1.GetBytes(reason));
        return Headers(stream, ref writer, block, fields, body, end);
    }

    public static byte[] Trailers(StreamId stream, params (string Name, string Value)[] fields)
    {
        var block = new byte[ProtocolLimits.MaxHeaderBlockLength];
        var writer = new HeaderBlockWriter(block);
        writer.BeginTrailers();
        return Headers(stream, ref writer, block, fields, "", end: true);
    }

    public static byte[] Data(StreamId stream, ReadOnlySpan<byte> body, bool end = false) =>
        Make(FrameType.Data, end ? FrameFlags.End : FrameFlags.None, stream, body);

    public static byte[] Data(StreamId stream, string body, bool end = false) => Data(stream, Encoding.Latin1.GetBytes(body), end);

    public static byte[] Window(StreamId stream, int increment)
    {
        var payload = new byte[ProtocolLimits.WindowLength];
        BinaryPrimitives.WriteInt32BigEndian(payload, increment);
        return Make(FrameType.Window, FrameFlags.None, stream, payload);
    }

    public static byte[] Rst(StreamId stream, StreamResetReason reason, StreamResetDetail detail = StreamResetDetail.None)
    {
        var frame = new byte[ControlFrames.RstSize];
        ControlFrames.WriteRst(frame, stream, reason, detail);
        return frame;
    }

    public static byte[] Ping(ulong opaque)
    {
        var frame = new byte[ControlFrames.PingSize];
        ControlFrames.WritePing(frame, opaque, ack: false);
        return frame;
    }

    public static byte[] GoAway(GoAwayPhase phase, SessionEndReason reason)
    {
        var frame = new byte[FrameHeader.Size + ProtocolLimits.MaxGoAwayLength];
        return frame[..ControlFrames.WriteGoAway(frame, phase, reason, "")];
    }

    private static byte[] Headers(
        StreamId stream, ref HeaderBlockWriter writer, byte[] block, (string Name, string Value)[] fields, string body, bool end)
    {
        foreach (var (name, value) in fields)
        {
            writer.AddField(name, value);
        }

        var length = writer.Complete();
        Assert.False(writer.Overflowed);
        var payload = new byte[ProtocolLimits.HeaderBlockPrefixLength + length + body.Length];
        HeaderBlock.WritePrefix(payload, length);
        block.AsSpan(0, length).CopyTo(payload.AsSpan(ProtocolLimits.HeaderBlockPrefixLength));
        Encoding.Latin1.GetBytes(body, payload.AsSpan(ProtocolLimits.HeaderBlockPrefixLength + length));
        return Make(FrameType.Headers, end ? FrameFlags.End : FrameFlags.None, stream, payload);
    }
}
