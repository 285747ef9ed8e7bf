using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace Tunnel2.Telemetry.Files;

/// <summary>
/// Files that only their owner may read: what visitors ask for, and keys. A new one is made with that mode, whatever the umask is, so that
/// there is no moment in which others can open it. Stateless.
/// </summary>
internal static partial class OwnerOnlyFile
{
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite;
    private const int AtEmptyPath = 0x1000;
    private const uint BasicStats = 0x7FF;
    private const int UidOffset = 20;
    private const int ModeOffset = 28;
    private const int TypeMask = 0xF000;
    private const int RegularFile = 0x8000;

    /// <summary>Opens or makes a file for writing. One of ours that was there with a wider mode gets this one.</summary>
    /// <param name="path">The file.</param>
    /// <param name="mode">How; new files get the mode.</param>
    /// <param name="access">What for; not for reading alone.</param>
    /// <param name="share">Who else may have it open.</param>
    /// <exception cref="IOException">It cannot be opened.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not open it.</exception>
    internal static FileStream Open(string path, FileMode mode, FileAccess access, FileShare share)
    {
        var options = new FileStreamOptions { Mode = mode, Access = access, Share = share, BufferSize = 0 };
        if (mode != FileMode.Open && !OperatingSystem.IsWindows())
        {
            options.UnixCreateMode = OwnerOnly;
        }

        var file = new FileStream(path, options);
        try
        {
            Narrow(file.SafeFileHandle);
            return file;
        }
        catch
        {
            file.Dispose();
            throw;
        }
    }

    /// <summary>Takes others' rights from a file that is there, if it is this user's. Nothing happens where it is not there.</summary>
    internal static void Narrow(string path)
    {
        try
        {
            // For reading: a file is not to be changed for this.
            using var file = new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete, bufferSize: 0);
            Narrow(file.SafeFileHandle);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            // Not there, or not ours to read: then it is not ours to change either.
        }
    }

    /// <summary>Whether an open file is a regular file of this user or of root; where the system cannot tell it counts as one.</summary>
    internal static bool IsTrusted(SafeFileHandle file) =>
        !TryLook(file, out var type, out var owner) || (type == RegularFile && (owner == GetEffectiveUserId() || owner == 0));

    private static void Narrow(SafeFileHandle file)
    {
        // A device or a pipe (/dev/null, /dev/stdout) is everybody's, and a file of somebody else's is theirs to open up.
        if (OperatingSystem.IsWindows()
            || !TryLook(file, out var type, out var owner)
            || type != RegularFile
            || owner != GetEffectiveUserId())
        {
            return;
        }

        var mode = File.GetUnixFileMode(file);
        if ((mode & ~OwnerOnly) != 0)
        {
            File.SetUnixFileMode(file, mode & OwnerOnly);
        }
    }

    private static unsafe bool TryLook(SafeFileHandle file, out int type, out uint owner)
    {
        (type, owner) = (0, 0);
        if (!OperatingSystem.IsLinux())
        {
            return false;
        }

        var added = false;
        byte* status = stackalloc byte[256];
        try
        {
            file.DangerousAddRef(ref added);
            if (Statx((int)file.DangerousGetHandle(), "", AtEmptyPath, BasicStats, status) != 0)
            {
                return false;
            }
        }
        finally
        {
            if (added)
            {
                file.DangerousRelease();
            }
        }

        type = *(ushort*)(status + ModeOffset) & TypeMask;
        owner = *(uint*)(status + UidOffset);
        return true;
    }

    [LibraryImport("libc", EntryPoint = "geteuid")]
    private static partial uint GetEffectiveUserId();

    [LibraryImport("libc", EntryPoint = "statx", StringMarshalling = StringMarshalling.Utf8)]
    private static unsafe partial int Statx(int directory, string path, int flags, uint mask, byte* status);
}
