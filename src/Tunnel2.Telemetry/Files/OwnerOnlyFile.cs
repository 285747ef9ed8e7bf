using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace Tunnel2.Telemetry.Files;

/// <summary>
/// Files that only their owner may read: records of requests, and keys. A new file is created with that mode, under any umask, so others
/// can never open it. Stateless.
/// </summary>
internal static partial class OwnerOnlyFile
{
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite;
    private const int AtEmptyPath = 0x1000;
    private const int WorkingFolder = -100;
    private const int StatusLength = 256;
    private const uint BasicStats = 0x7FF;
    private const int UidOffset = 20;
    private const int GidOffset = 24;
    private const int ModeOffset = 28;
    private const int TypeMask = 0xF000;
    private const int RegularFile = 0x8000;

    /// <summary>Opens or makes a file for writing. An existing file of this user with a wider mode gets this mode.</summary>
    /// <param name="path">The file.</param>
    /// <param name="mode">How to open it; new files get the mode.</param>
    /// <param name="access">The access; not for reading alone.</param>
    /// <param name="share">What others may do with the open file.</param>
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

    /// <summary>
    /// Writes a file beside the path and moves it there: readers, and a restart after a crash, see a whole file, the old or the new one.
    /// </summary>
    /// <param name="path">The file.</param>
    /// <param name="content">What it is to have.</param>
    /// <exception cref="IOException">It cannot be written; an existing file is as before.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not write there.</exception>
    internal static void Replace(string path, ReadOnlySpan<byte> content)
    {
        var temporary = $"{path}.{Guid.NewGuid():N}";
        try
        {
            using (var file = Open(temporary, FileMode.CreateNew, FileAccess.Write, FileShare.None))
            {
                file.Write(content);
                file.Flush(flushToDisk: true);
            }

            File.Move(temporary, path, overwrite: true);
        }
        catch
        {
            File.Delete(temporary);
            throw;
        }
    }

    /// <summary>Removes others' rights from an existing file, if it belongs to this user. A missing file is ignored.</summary>
    internal static void Narrow(string path)
    {
        try
        {
            // For reading, because this must not change the file's contents or times.
            using var file = new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete, bufferSize: 0);
            Narrow(file.SafeFileHandle);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            // The file is missing, or this user may not read it: then it must not be changed either.
        }
    }

    /// <summary>Whether an open file is a regular file of this user or of root; true if the system cannot say.</summary>
    internal static bool IsTrusted(SafeFileHandle file) =>
        !TryLook(file, out var type, out var owner, out _) || (type == RegularFile && (owner == GetEffectiveUserId() || owner == 0));

    /// <summary>
    /// Whether a path is that of a file, or of nothing: a new one may take its place. A pipe or a device (/dev/stdout) can only be written
    /// to.
    /// </summary>
    internal static unsafe bool IsReplaceable(string path)
    {
        byte* status = stackalloc byte[StatusLength];
        return !OperatingSystem.IsLinux()
            || Statx(WorkingFolder, path, 0, BasicStats, status) != 0
            || (*(ushort*)(status + ModeOffset) & TypeMask) == RegularFile;
    }

    /// <summary>Gives a file to the owner and group of another one, as it has to be before it takes that one's place.</summary>
    /// <returns>False: this user may not do that. True if the system cannot say whose they are.</returns>
    internal static bool TryGiveToOwnerOf(string path, string other)
    {
        using var from = File.OpenHandle(other, share: FileShare.ReadWrite | FileShare.Delete);
        using var to = File.OpenHandle(path, share: FileShare.ReadWrite | FileShare.Delete);
        return !TryLook(from, out _, out var owner, out var group)
            || (TryLook(to, out _, out var ownerNow, out var groupNow) && (owner, group) == (ownerNow, groupNow))
            || ChangeOwner(path, owner, group) == 0;
    }

    private static void Narrow(SafeFileHandle file)
    {
        // A device or a pipe (/dev/null, /dev/stdout) is shared, and another user's file is that user's decision.
        if (OperatingSystem.IsWindows()
            || !TryLook(file, out var type, out var owner, out _)
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

    private static unsafe bool TryLook(SafeFileHandle file, out int type, out uint owner, out uint group)
    {
        (type, owner, group) = (0, 0, 0);
        if (!OperatingSystem.IsLinux())
        {
            return false;
        }

        var added = false;
        byte* status = stackalloc byte[StatusLength];
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
        group = *(uint*)(status + GidOffset);
        return true;
    }

    [LibraryImport("libc", EntryPoint = "geteuid")]
    private static partial uint GetEffectiveUserId();

    [LibraryImport("libc", EntryPoint = "chown", StringMarshalling = StringMarshalling.Utf8)]
    private static partial int ChangeOwner(string path, uint owner, uint group);

    [LibraryImport("libc", EntryPoint = "statx", StringMarshalling = StringMarshalling.Utf8)]
    private static unsafe partial int Statx(int directory, string path, int flags, uint mask, byte* status);
}
