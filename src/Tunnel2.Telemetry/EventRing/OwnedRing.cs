using Tunnel2.Telemetry.Files;

namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// A ring that this process owns, with a lock file, so that two processes never own the same file. After a crash the next owner continues
/// with the sequence numbers; an orderly end removes the file. Not thread-safe.
/// </summary>
internal sealed class OwnedRing : IDisposable
{
    private const int MostOwners = 16;

    private readonly FileStream _lock;

    private OwnedRing(SharedEventRing ring, FileStream ownerLock, EventRingOpenError refused)
    {
        Ring = ring;
        _lock = ownerLock;
        Refused = refused;
    }

    internal SharedEventRing Ring { get; }

    /// <summary>Why an existing ring was not taken over.</summary>
    internal EventRingOpenError Refused { get; }

    /// <summary>Opens or creates the ring at a path from the settings.</summary>
    /// <exception cref="IOException">
    /// The ring is not available: another process owns it, the disk is full, or the directory is missing.
    /// </exception>
    internal static OwnedRing Open(string path, EventRingOptions options) =>
        TryOpen(path, options) ?? throw new IOException($"{path} belongs to another running process.");

    /// <summary>
    /// Opens or creates the ring <c>name.ring</c> in the runtime directory, or <c>name-2.ring</c> and so on if other processes own those
    /// before.
    /// </summary>
    /// <exception cref="IOException">No ring is available.</exception>
    internal static OwnedRing OpenDefault(string name, EventRingOptions options)
    {
        RuntimeDirectory.Create();
        for (int i = 1; i <= MostOwners; i++)
        {
            string file = (i == 1 ? name : $"{name}-{i}") + RuntimeDirectory.RingExtension;
            if (TryOpen(Path.Combine(RuntimeDirectory.Path, file), options) is { } ring)
            {
                return ring;
            }
        }

        throw new IOException($"{MostOwners} processes already have a ring named {name} in {RuntimeDirectory.Path}.");
    }

    /// <summary>Closes the ring and removes its file; readers that have mapped it can read the rest.</summary>
    public void Dispose()
    {
        Ring.Dispose();
        try
        {
            File.Delete(Ring.Path);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            // The ring is closed, which is enough: the next owner replaces the file.
        }

        _lock.Dispose();
    }

    private static OwnedRing? TryOpen(string path, EventRingOptions options)
    {
        FileStream ownerLock;
        try
        {
            ownerLock = OwnerOnlyFile.Open(path + ".lock", FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None);
        }
        catch (IOException e) when (e is not (DirectoryNotFoundException or FileNotFoundException) && File.Exists(path + ".lock"))
        {
            return null;
        }

        try
        {
            return new OwnedRing(SharedEventRing.OpenOrCreate(path, options, out EventRingOpenError refused), ownerLock, refused);
        }
        catch (Exception e)
        {
            ownerLock.Dispose();
            if (e is UnauthorizedAccessException)
            {
                throw new IOException(e.Message, e);
            }

            throw;
        }
    }
}
