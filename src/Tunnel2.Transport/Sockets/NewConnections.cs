using System.Net.Sockets;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Sockets;

/// <summary>
/// Keeps new connections out of a listening socket that is about to be closed. Closing one resets the connections in its queue, also who
/// came in after the last accept; so first nobody may come any more, and then the queue is emptied. Who asks meanwhile asks again after a
/// second (RFC 6298 section 2), and meets the socket that has the address then: a request that would have been lost is late.
/// </summary>
internal static class NewConnections
{
    private const int AttachFilter = 26;

    /// <summary>For handshakes that had begun. The peers' last words of them take one more round trip.</summary>
    public static TimeSpan Handshakes { get; } = TimeSpan.FromMilliseconds(100);

    /// <summary>
    /// A classic BPF program over the TCP header, each step a struct sock_filter { u16 code; u8 jt; u8 jf; u32 k } of a little-endian
    /// machine: load byte 13, the flags; with SYN set go on, else skip one; drop; keep all of it.
    /// </summary>
    private static ReadOnlySpan<ulong> Program =>
        [0x0000_000D_0000_0030, 0x0000_0002_0100_0045, 0x0000_0000_0000_0006, 0x0000_FFFF_0000_0006];

    /// <summary>
    /// Whether a socket listens before we do: then it is somebody else's too, who has it after us with all that wait in it.
    /// </summary>
    public static bool AreSharedBy(Socket bound) =>
        (int)bound.GetSocketOption(SocketOptionLevel.Socket, SocketOptionName.AcceptConnection)! != 0;

    /// <summary>Turns away who comes from now on.</summary>
    /// <param name="listener">The descriptor of a TCP socket that listens, and that nobody else has.</param>
    /// <returns>False where the system cannot: it is as if it had not been asked.</returns>
    public static unsafe bool TryHold(int listener)
    {
        fixed (ulong* program = Program)
        {
            var filter = new Filter { Length = (ushort)Program.Length, Program = program };
            return Libc.SetSocketOption(listener, Libc.SolSocket, AttachFilter, &filter, (uint)sizeof(Filter)) == 0;
        }
    }

    /// <summary>Turns away who comes from now on.</summary>
    /// <param name="listener">A TCP socket that listens, and that nobody else has.</param>
    /// <returns>False where the system cannot.</returns>
    public static bool TryHold(Socket listener)
    {
        if (!OperatingSystem.IsLinux())
        {
            return false;
        }

        try
        {
            return TryHold((int)listener.Handle);
        }
        catch (ObjectDisposedException)
        {
            return false;
        }
    }

    /// <summary>struct sock_fprog.</summary>
    private unsafe struct Filter
    {
        public ushort Length;
        public ulong* Program;
    }
}
