using System.Runtime.InteropServices;

namespace Tunnel2.Client.Terminals;

/// <summary>System calls for terminals that .NET does not offer. Linux, where the numbers are the same on x64 and arm64.</summary>
internal static unsafe partial class TerminalCalls
{
    public const int StandardInput = 0;
    public const int StandardOutput = 1;
    public const int StandardError = 2;

    public const short PollIn = 1;
    public const short PollOut = 4;

    public const int WriteOnly = 1;
    public const int NoControllingTerminal = 0x100;
    public const int NonBlocking = 0x800;
    public const int CloseOnExec = 0x80000;

    public const int Stop = 19;

    public const int InterruptedCall = 4;
    public const int TryAgain = 11;

    /// <summary>struct termios is 60 bytes; some room for a C library that has more.</summary>
    public const int ModesSize = 128;

    private const int GetWindowSize = 0x5413;

    [LibraryImport("libc", EntryPoint = "isatty")]
    public static partial int IsTerminal(int descriptor);

    [LibraryImport("libc", EntryPoint = "tcgetattr")]
    public static partial int GetModes(int descriptor, byte* modes);

    [LibraryImport("libc", EntryPoint = "tcsetattr")]
    public static partial int SetModes(int descriptor, int when, byte* modes);

    [LibraryImport("libc", EntryPoint = "tcflush")]
    public static partial int Flush(int descriptor, int queue);

    [LibraryImport("libc", EntryPoint = "tcgetpgrp")]
    public static partial int ForegroundGroup(int descriptor);

    [LibraryImport("libc", EntryPoint = "getpgrp")]
    public static partial int OwnGroup();

    [LibraryImport("libc", EntryPoint = "poll", SetLastError = true)]
    public static partial int Poll(PollEntry* entries, nuint count, int milliseconds);

    [LibraryImport("libc", EntryPoint = "read", SetLastError = true)]
    public static partial nint Read(int descriptor, byte* bytes, nuint count);

    [LibraryImport("libc", EntryPoint = "write", SetLastError = true)]
    public static partial nint Write(int descriptor, byte* bytes, nuint count);

    [LibraryImport("libc", EntryPoint = "open", StringMarshalling = StringMarshalling.Utf8)]
    public static partial int Open(string path, int flags);

    [LibraryImport("libc", EntryPoint = "close")]
    public static partial int Close(int descriptor);

    [LibraryImport("libc", EntryPoint = "kill")]
    public static partial int Kill(int process, int signal);

    /// <summary>The size of a terminal; zeros where it has none.</summary>
    public static (int Columns, int Rows) SizeOf(int descriptor)
    {
        // struct winsize { unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel; }.
        ushort* size = stackalloc ushort[4];
        return Control(descriptor, GetWindowSize, size) == 0 ? (size[1], size[0]) : (0, 0);
    }

    [LibraryImport("libc", EntryPoint = "ioctl")]
    private static partial int Control(int descriptor, nuint request, ushort* size);

    /// <summary>struct pollfd.</summary>
    internal struct PollEntry
    {
        public int Descriptor;
        public short Wanted;
        public short Found;
    }
}
