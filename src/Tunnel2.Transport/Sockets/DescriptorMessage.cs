using System.Net.Sockets;
using Tunnel2.Transport.Native;
using ControlHeader = Tunnel2.Transport.Native.SocketMessage.ControlHeader;

namespace Tunnel2.Transport.Sockets;

/// <summary>
/// Receives a Unix socket's message with descriptors of another process (SCM_RIGHTS), which then belong to this process. Linux.
/// </summary>
internal static unsafe class DescriptorMessage
{
    /// <summary>Takes the received message; does not wait.</summary>
    /// <param name="peer">The connected Unix socket.</param>
    /// <param name="bytes">Receives the bytes of one message, as many as fit.</param>
    /// <param name="descriptors">
    /// Receives the descriptors; the caller closes each. They are not closed on exec: .NET takes this as a sign that others share the
    /// socket, and does not disconnect it for them.
    /// </param>
    /// <returns>How many of both; <c>IsWhole</c> is false when there were more descriptors, which the kernel has closed.</returns>
    /// <exception cref="SocketException">No message is there, or the connection is broken.</exception>
    public static (int Bytes, int Descriptors, bool IsWhole) Receive(Socket peer, Span<byte> bytes, Span<int> descriptors)
    {
        // The exact size: the kernel would use spare bytes for one more descriptor.
        Span<byte> control = stackalloc byte[sizeof(ControlHeader) + (descriptors.Length * sizeof(int))];
        fixed (byte* start = bytes)
        fixed (byte* controls = control)
        {
            var part = new SocketMessage.Part { Start = start, Length = (nuint)bytes.Length };
            var message = new SocketMessage { Parts = &part, PartCount = 1, Control = controls, ControlLength = (nuint)control.Length };
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

    /// <summary>Goes through all control messages, because others may come before the descriptors.</summary>
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

                control = control[Math.Min(control.Length, ControlHeader.Aligned(length))..];
            }
        }

        return taken;
    }
}
