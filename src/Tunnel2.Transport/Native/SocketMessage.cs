namespace Tunnel2.Transport.Native;

/// <summary>struct msghdr.</summary>
internal unsafe struct SocketMessage
{
    public void* Name;
    public uint NameLength;
    public Part* Parts;
    public nuint PartCount;
    public void* Control;
    public nuint ControlLength;
    public int Flags;

    /// <summary>struct iovec.</summary>
    internal struct Part
    {
        public byte* Start;
        public nuint Length;
    }

    /// <summary>struct cmsghdr.</summary>
    internal readonly record struct ControlHeader(nuint Length, int Level, int Type)
    {
        /// <summary>Where the next one begins, after so many bytes of this one.</summary>
        public static int Aligned(int length) => (length + sizeof(nuint) - 1) & ~(sizeof(nuint) - 1);
    }
}
