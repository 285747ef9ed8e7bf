using System.Net.Sockets;
using System.Runtime.InteropServices;

namespace Tunnel2.Ports;

/// <summary>System calls that .NET does not offer: descriptors sent with bytes, and the process of a peer. Linux.</summary>
internal static unsafe partial class Libc
{
    private const int SolSocket = 1;
    private const int ScmRights = 1;
    private const int SoPeerCred = 17;
    private const int MsgDontWait = 0x40;
    private const int MsgNoSignal = 0x4000;

    /// <summary>More than there are names of listeners.</summary>
    private const int MostDescriptors = 8;

    /// <summary>The user as which this process runs.</summary>
    [LibraryImport("libc", EntryPoint = "geteuid")]
    public static partial uint EffectiveUser();

    /// <summary>The process at the other end of a Unix socket, at the time when it connected.</summary>
    public static (int Process, uint User) PeerOf(Socket socket)
    {
        // struct ucred { pid_t pid; uid_t uid; gid_t gid; }.
        Span<int> credentials = stackalloc int[3];
        socket.GetRawSocketOption(SolSocket, SoPeerCred, MemoryMarshal.AsBytes(credentials));
        return (credentials[0], (uint)credentials[1]);
    }

    /// <summary>Sends bytes with descriptors, as one message and without waiting: a new connection has room for it.</summary>
    /// <returns>False when the peer has left.</returns>
    public static bool TrySend(Socket peer, ReadOnlySpan<byte> bytes, ReadOnlySpan<int> descriptors)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(descriptors.Length, MostDescriptors);

        // The data follow the header of a control message, whose length is a multiple of a word.
        var length = sizeof(ControlHeader) + (descriptors.Length * sizeof(int));
        var control = stackalloc nuint[((sizeof(ControlHeader) + (MostDescriptors * sizeof(int))) / sizeof(nuint)) + 1];
        *(ControlHeader*)control = new ControlHeader { Length = (nuint)length, Level = SolSocket, Type = ScmRights };
        descriptors.CopyTo(new Span<int>((byte*)control + sizeof(ControlHeader), descriptors.Length));
        fixed (byte* start = bytes)
        {
            var part = new Part { Start = start, Length = (nuint)bytes.Length };
            var message = new Message { Parts = &part, PartCount = 1 };
            if (descriptors.Length > 0)
            {
                message.Control = control;
                message.ControlLength = (nuint)length;
            }

            return SendMessage((int)peer.Handle, &message, MsgDontWait | MsgNoSignal) == bytes.Length;
        }
    }

    [LibraryImport("libc", EntryPoint = "sendmsg")]
    private static partial nint SendMessage(int descriptor, Message* message, int flags);

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
    private struct ControlHeader
    {
        public nuint Length;
        public int Level;
        public int Type;
    }
}
