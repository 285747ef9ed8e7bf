using System.Buffers.Binary;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks.Ways;

/// <summary>An agent's first words over a WebSocket, by hand.</summary>
internal static class UplinkWords
{
    /// <summary>A HELLO.</summary>
    public static byte[] Hello(string name) => RawUplink.Hello(name).ToFrame();

    /// <summary>Says HELLO in one message and reads the answer, which is a REJECT.</summary>
    public static async Task<RejectCode> HelloAsync(RawConnection connection)
    {
        var frame = await AskAsync(connection);
        Assert.Equal((byte)FrameType.Reject, frame[3]);
        Assert.Equal(ProtocolError.None, RejectMessage.TryRead(frame.AsSpan(FrameHeader.Size), out var reject));
        return reject!.Code;
    }

    /// <summary>Says HELLO in one message and reads the answer, which is a WELCOME.</summary>
    public static async Task WelcomeAsync(RawConnection connection) =>
        Assert.Equal((byte)FrameType.Welcome, (await AskAsync(connection))[3]);

    private static async Task<byte[]> AskAsync(RawConnection connection)
    {
        var hello = Hello("web");
        Assert.InRange(hello.Length, 1, 125);
        await connection.WriteAsync((byte[])[0x82, (byte)(0x80 | hello.Length), 0, 0, 0, 0, .. hello]);
        var head = await connection.ReadExactlyAsync(2);
        Assert.Equal(0x82, head[0]);
        var length = head[1] == 126 ? BinaryPrimitives.ReadUInt16BigEndian(await connection.ReadExactlyAsync(2)) : head[1];
        return await connection.ReadExactlyAsync(length);
    }
}
