using System.Runtime.InteropServices;

namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// The default directory for rings. It belongs to this user alone. If the system has such a place, it is in memory: then pages of a ring
/// are not written back to a disk while a producer stores into them. ProxyEntry and <c>tunnel2 tap</c> both use it. Stateless.
/// </summary>
internal static partial class RuntimeDirectory
{
    /// <summary>The end of a ring's file name.</summary>
    internal const string RingExtension = ".ring";

    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;
    private const int AtCurrentDirectory = -100;
    private const int AtSymlinkNoFollow = 0x100;
    private const uint BasicStats = 0x7FF;
    private const int UidOffset = 20;
    private const int ModeOffset = 28;
    private const int TypeMask = 0xF000;
    private const int DirectoryType = 0x4000;

    /// <summary>The directory's path; nothing is created.</summary>
    internal static string Path { get; } = FindPath();

    /// <summary>The existing rings, by name; none when the directory is missing or not safe.</summary>
    internal static string[] FindRings()
    {
        try
        {
            return WhyUnsafe(Path) is null ? [.. Directory.EnumerateFiles(Path, "*" + RingExtension).Order(StringComparer.Ordinal)] : [];
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return [];
        }
    }

    /// <summary>Creates the directory if it is missing, and ensures that no other user can write in it.</summary>
    /// <exception cref="IOException">It cannot be created, or belongs to another user.</exception>
    internal static void Create()
    {
        if (OperatingSystem.IsWindows())
        {
            Directory.CreateDirectory(Path);
            return;
        }

        Directory.CreateDirectory(Path, OwnerOnly);
        if (WhyUnsafe(Path) is { } reason)
        {
            throw new IOException($"{Path} {reason}.");
        }
    }

    /// <summary>
    /// Why this process must not map files of a directory: it must belong to this user, and no other user may write in it. Null if it is
    /// safe.
    /// </summary>
    internal static unsafe string? WhyUnsafe(string path)
    {
        if (OperatingSystem.IsWindows())
        {
            return Directory.Exists(path) ? null : "does not exist";
        }

        if (!Directory.Exists(path))
        {
            return "does not exist";
        }

        if ((File.GetUnixFileMode(path) & ~OwnerOnly) != 0)
        {
            return "may be used by others than its owner";
        }

        if (!OperatingSystem.IsLinux())
        {
            return null;
        }

        byte* status = stackalloc byte[256];
        if (Statx(AtCurrentDirectory, path, AtSymlinkNoFollow, BasicStats, status) != 0)
        {
            return "cannot be looked at";
        }

        return (*(ushort*)(status + ModeOffset) & TypeMask) != DirectoryType ? "is a link"
            : *(uint*)(status + UidOffset) != GetEffectiveUserId() ? "belongs to another user"
            : null;
    }

    private static string FindPath()
    {
        if (OperatingSystem.IsWindows())
        {
            return System.IO.Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.LocalApplicationData), "Tunnel2");
        }

        string? own = Environment.GetEnvironmentVariable("XDG_RUNTIME_DIR");
        if (own is not null && System.IO.Path.IsPathRooted(own) && Directory.Exists(own))
        {
            return System.IO.Path.Combine(own, "tunnel2");
        }

        string shared = Directory.Exists("/dev/shm") ? "/dev/shm" : System.IO.Path.GetTempPath();
        return System.IO.Path.Combine(shared, $"tunnel2-{GetEffectiveUserId()}");
    }

    [LibraryImport("libc", EntryPoint = "geteuid")]
    private static partial uint GetEffectiveUserId();

    [LibraryImport("libc", EntryPoint = "statx", StringMarshalling = StringMarshalling.Utf8)]
    private static unsafe partial int Statx(int directory, string path, int flags, uint mask, byte* status);
}
