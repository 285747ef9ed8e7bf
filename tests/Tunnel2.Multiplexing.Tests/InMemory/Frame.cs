using System.Buffers.Binary;
using System.Text;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Multiplexing.Tests.InMemory;

/// <summary>Frames made by hand, also ones that no peer may send.</summary>
internal static class Frame
{
    public static byte[] Make(FrameType type, FrameFlags flags, StreamId stream, ReadOnlySpan<byte> payload)
    {
        var frame = new byte[FrameHeader.Size + payload.Length];
        new FrameHeader(payload.Length, type, flags, stream).Write(frame);
        payload.CopyTo(frame.AsSpan(FrameHeader.Size));
        return frame;
    }

    /// <summary>A header that announces a payload which does not follow.</summary>
    public static byte[] Announce(FrameType type, FrameFlags flags, StreamId stream, int length)
    {
        var frame = new byte[FrameHeader.Size];
        new FrameHeader(length, type, flags, stream).Write(frame);
        return frame;
    }

    public static byte[] Request(StreamId stream, ReadOnlySpan<byte> body = default, bool end = true, string target = "/")
    {
        var block = new byte[64 + target.Length];
        var writer = new HeaderBlockWriter(block);
        writer.BeginRequest(HeaderBlockFlags.None, "GET", "http", "web.localhost", target);
        return Head(stream, block.AsSpan(0, writer.Complete()), body, end);
    }

    public static byte[] Response(StreamId stream, int status, ReadOnlySpan<byte> body = default, bool end = true)
    {
        var block = new byte[64];
        var writer = new HeaderBlockWriter(block);
        writer.BeginResponse(HeaderBlockFlags.None, status, "OK"u8);
        return Head(stream, block.AsSpan(0, writer.Complete()), body, end);
    }

    public static byte[] Trailers(StreamId stream, bool end = true, ReadOnlySpan<byte> body = default)
    {
        var block = new byte[64];
        var writer = new HeaderBlockWriter(block);
        writer.BeginTrailers();
        writer.AddField("X-Sum", "1");
        return Head(stream, block.AsSpan(0, writer.Complete()), body, end);
    }

    public static byte[] Head(StreamId stream, ReadOnlySpan<byte> block, ReadOnlySpan<byte> body, bool end)
    {
        var payload = new byte[ProtocolLimits.HeaderBlockPrefixLength + block.Length + body.Length];
        HeaderBlock.WritePrefix(payload, block.Length);
        block.CopyTo(payload.AsSpan(ProtocolLimits.HeaderBlockPrefixLength));
        body.CopyTo(payload.AsSpan(ProtocolLimits.HeaderBlockPrefixLength + block.Length));
        return Make(FrameType.Headers, end ? FrameFlags.End : FrameFlags.None, stream, payload);
    }

    public static byte[] Data(StreamId stream, ReadOnlySpan<byte> body, bool end = false) =>
        Make(FrameType.Data, end ? FrameFlags.End : FrameFlags.None, stream, body);

    public static byte[] Window(StreamId stream, int increment)
    {
        var payload = new byte[4];
        BinaryPrimitives.WriteInt32BigEndian(payload, increment);
        return Make(FrameType.Window, FrameFlags.None, stream, payload);
    }

    public static byte[] Rst(StreamId stream, StreamResetReason reason = StreamResetReason.Cancel)
    {
        var frame = new byte[ControlFrames.RstSize];
        ControlFrames.WriteRst(frame, stream, reason);
        return frame;
    }

    public static byte[] Ping(ulong opaque, bool ack = false)
    {
        var frame = new byte[ControlFrames.PingSize];
        ControlFrames.WritePing(frame, opaque, ack);
        return frame;
    }

    public static byte[] GoAway(GoAwayPhase phase, SessionEndReason reason, string text = "")
    {
        var frame = new byte[FrameHeader.Size + ProtocolLimits.MaxGoAwayLength];
        return frame[..ControlFrames.WriteGoAway(frame, phase, reason, text)];
    }

    public static byte[] Join(params byte[][] frames) => [.. frames.SelectMany(frame => frame)];

    public static byte[] Text(string text) => Encoding.ASCII.GetBytes(text);
}
