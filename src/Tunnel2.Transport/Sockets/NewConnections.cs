using System.Net.Sockets;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Sockets;

/// <summary>
/// Keeps new connections out of a listening socket that will be closed. The close resets the connections in its queue, including those that
/// came after the last accept. So first new connections are kept out, and then the queue is emptied. A client that connects in that time
/// tries again after a second (RFC 6298 section 2), and reaches the next owner of the address: a request that would have been lost is only
/// late.
/// </summary>
internal static class NewConnections
{
    private const int AttachFilter = 26;

    /// <summary>The time for handshakes that have begun: their last packets take one more round trip.</summary>
    public static TimeSpan Handshakes { get; } = TimeSpan.FromMilliseconds(100);

    /// <summary>
    /// A classic BPF program over the TCP header, each step a struct sock_filter { u16 code; u8 jt; u8 jf; u32 k } of a little-endian
    /// machine: load byte 13, the flags; with SYN set continue, otherwise skip one step; drop; accept the whole packet.
    /// </summary>
    private static ReadOnlySpan<ulong> Program =>
        [0x0000_000D_0000_0030, 0x0000_0002_0100_0045, 0x0000_0000_0000_0006, 0x0000_FFFF_0000_0006];

    /// <summary>
    /// Whether a socket already listens. Then it also belongs to another process, which keeps it and the connections that wait in it.
    /// </summary>
    public static bool AreSharedBy(Socket bound) =>
        (int)bound.GetSocketOption(SocketOptionLevel.Socket, SocketOptionName.AcceptConnection)! != 0;

    /// <summary>Drops the packets of new connections from now on.</summary>
    /// <param name="listener">The descriptor of a listening TCP socket that no other process has.</param>
    /// <returns>False when the system cannot do it; then nothing was changed.</returns>
    public static unsafe bool TryHold(int listener)
    {
        fixed (ulong* program = Program)
        {
            var filter = new Filter { Length = (ushort)Program.Length, Program = program };
            return Libc.SetSocketOption(listener, Libc.SolSocket, AttachFilter, &filter, (uint)sizeof(Filter)) == 0;
        }
    }

    /// <summary>Drops the packets of new connections from now on.</summary>
    /// <param name="listener">A listening TCP socket that no other process has.</param>
    /// <returns>False when the system cannot do it.</returns>
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
