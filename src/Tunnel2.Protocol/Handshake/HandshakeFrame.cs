using Tunnel2.Protocol.Frames;

namespace Tunnel2.Protocol.Handshake;

/// <summary>The step that all handshake messages have in common: the header before the payload.</summary>
internal static class HandshakeFrame
{
    public static byte[] Complete(byte[] buffer, int payloadLength, FrameType type)
    {
        new FrameHeader(payloadLength, type, FrameFlags.None, StreamId.Uplink).Write(buffer);
        return buffer.AsSpan(0, FrameHeader.Size + payloadLength).ToArray();
    }
}
