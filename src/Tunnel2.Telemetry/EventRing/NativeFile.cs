using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace Tunnel2.Telemetry.EventRing;

/// <summary>File operations for which .NET has no method. Stateless.</summary>
internal static partial class NativeFile
{
    private const int Interrupted = 4;
    private const int NoSpace = 28;
    private const int QuotaExceeded = 122;

    /// <summary>
    /// Allocates all blocks of the file on its disk, so that a store through a mapping never meets a full disk. That would be a SIGBUS,
    /// which ends the process.
    /// </summary>
    /// <exception cref="IOException">The disk has no room.</exception>
    internal static void Allocate(FileStream file, long length)
    {
        if (OperatingSystem.IsLinux() && Environment.Is64BitProcess)
        {
            int error;
            do
            {
                error = PosixFallocate(file.SafeFileHandle, 0, length);
            }
            while (error == Interrupted);

            if (error != 0)
            {
                throw new IOException(error is NoSpace or QuotaExceeded
                    ? $"There is no room for {length:N0} bytes on the disk of {file.Name}."
                    : $"{length:N0} bytes cannot be allocated for {file.Name}: {Marshal.GetPInvokeErrorMessage(error)}.");
            }

            return;
        }

        byte[] zeros = new byte[64 * 1024];
        for (long at = 0; at < length; at += zeros.Length)
        {
            RandomAccess.Write(file.SafeFileHandle, zeros.AsSpan(0, (int)Math.Min(zeros.Length, length - at)), at);
        }
    }

    [LibraryImport("libc", EntryPoint = "posix_fallocate")]
    private static partial int PosixFallocate(SafeFileHandle file, long offset, long length);
}
