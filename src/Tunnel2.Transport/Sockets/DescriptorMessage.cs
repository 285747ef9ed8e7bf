using System.Net.Sockets;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Sockets;

/// <summary>A message of a Unix socket with descriptors of another process (SCM_RIGHTS), which are this process's from now on.
/// Linux.</summary>
internal static unsafe class DescriptorMessage
{
    /// <summary>Takes what has come; waits for nothing.</summary>
    /// <param name="peer">The connected Unix socket.</param>
    /// <param name="bytes">Takes the bytes: those of one message, as far as they find room.</param>
    /// <param name="descriptors">
    /// Takes the descriptors, each to be closed by the caller. They are not closed on exec: .NET takes that for a sign that others have
    /// the socket too, and disconnects it for none of them.
    /// </param>
    /// <returns>How many of both; <c>IsWhole</c> is false where there were more descriptors, which the kernel has closed.</returns>
    /// <exception cref="SocketException">Nothing has come, or the connection is broken.</exception>
    public static (int Bytes, int Descriptors, bool IsWhole) Receive(Socket peer, Span<byte> bytes, Span<int> descriptors)
    {
        // Exact: the kernel would use a rest for one more.
        Span<byte> control = stackalloc byte[sizeof(ControlHeader) + (descriptors.Length * sizeof(int))];
        fixed (byte* start = bytes)
        fixed (byte* controls = control)
        {
            var part = new Part { Start = start, Length = (nuint)bytes.Length };
            var message = new Message { Parts = &part, PartCount = 1, Control = controls, ControlLength = (nuint)control.Length };
            nint received;
            do
            {
                received = Libc.ReceiveMessage((int)peer.Handle, &message, Libc.MsgDontWait);
            }
            while (received < 0 && Errno.Last == Errno.Interrupted);

            if (received < 0)
            {
                throw new SocketException((int)(Errno.Last == Errno.Again ? SocketError.WouldBlock : Errno.ToSocketError(Errno.Last)));
            }

            var taken = TakeAll(control[..(int)message.ControlLength], descriptors);
            return ((int)received, taken, (message.Flags & Libc.MsgControlTruncated) == 0);
        }
    }

    private static int Aligned(int length) => (length + sizeof(nuint) - 1) & ~(sizeof(nuint) - 1);

    /// <summary>Walks the control messages: there may be others before the descriptors.</summary>
    private static int TakeAll(ReadOnlySpan<byte> control, Span<int> descriptors)
    {
        var taken = 0;
        while (control.Length >= sizeof(ControlHeader))
        {
            fixed (byte* start = control)
            {
                var header = *(ControlHeader*)start;
                var length = (int)Math.Min(header.Length, (nuint)control.Length);
                if (length < sizeof(ControlHeader))
                {
                    break;
                }

                if (header is { Level: Libc.SolSocket, Type: Libc.ScmRights })
                {
                    var here = new ReadOnlySpan<int>(start + sizeof(ControlHeader), (length - sizeof(ControlHeader)) / sizeof(int));
                    here.CopyTo(descriptors[taken..]);
                    taken += here.Length;
                }

                control = control[Math.Min(control.Length, Aligned(length))..];
            }
        }

        return taken;
    }

    /// <summary>struct iovec.</summary>
    private struct Part
    {
        public byte* Start;
        public nuint Length;
    }

    /// <summary>struct msghdr.</summary>
    private struct Message
    {
        public void* Name;
        public uint NameLength;
        public Part* Parts;
        public nuint PartCount;
        public void* Control;
        public nuint ControlLength;
        public int Flags;
    }

    /// <summary>struct cmsghdr.</summary>
    private readonly record struct ControlHeader(nuint Length, int Level, int Type);
}
