using System.IO.MemoryMappedFiles;
using System.Runtime.CompilerServices;
using Tunnel2.Telemetry.Files;
using static Tunnel2.Telemetry.EventRing.EventRingLayout;

namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// A broadcast ring of fixed slots in a memory-mapped file: any number of producers and readers, in any number of processes.
/// Layout and invariants: <see cref="EventRingLayout"/>. Safe on any thread.
/// </summary>
/// <remarks>
/// The garbage collector releases the mapping, when neither the ring nor a producer nor a reader of it is reachable. <see cref="Dispose"/>
/// does not, because a publish that still runs on another thread must never touch unmapped memory. So all code that uses the mapping keeps
/// the ring alive until after its last use of a pointer (<see cref="GC.KeepAlive"/>).
/// </remarks>
internal sealed unsafe class SharedEventRing : IDisposable
{
    private readonly MemoryMappedViewAccessor _view;
    private readonly byte* _base;
    private readonly bool _owner;

    private SharedEventRing(string path, EventRingHeader header, EventRingOptions options, bool writable, bool owner)
    {
        Path = path;
        Header = header;
        Options = options;
        IsWritable = writable;
        _owner = owner;
        long length = FileLength(header.Consumers, header.Capacity, header.SlotSize);
        MemoryMappedFileAccess access = writable ? MemoryMappedFileAccess.ReadWrite : MemoryMappedFileAccess.Read;
        using var stream = new FileStream(
            path, FileMode.Open, writable ? FileAccess.ReadWrite : FileAccess.Read, FileShare.ReadWrite | FileShare.Delete, bufferSize: 0);
        using var file = MemoryMappedFile.CreateFromFile(stream, null, length, access, HandleInheritability.None, leaveOpen: true);
        _view = file.CreateViewAccessor(0, length, access);
        // Not AcquirePointer: without a release it would keep the view's finalizer from unmapping.
        _base = (byte*)_view.SafeMemoryMappedViewHandle.DangerousGetHandle() + _view.PointerOffset;
        Slots = new RingSlots(_base + SlotsOffset(header.Consumers), header.Capacity, header.SlotSize);
    }

    /// <summary>The file's path.</summary>
    internal string Path { get; }

    /// <summary>The validated fixed fields; hot paths never read them from the mapped header again.</summary>
    internal EventRingHeader Header { get; }

    internal EventRingOptions Options { get; }

    /// <summary>False when only reading is possible, which may lose records.</summary>
    internal bool IsWritable { get; }

    internal RingSlots Slots { get; }

    /// <summary>The longest payload of a record, in bytes.</summary>
    internal int MaxPayload => Header.SlotSize - SlotHeaderSize;

    internal int Capacity => Header.Capacity;

    /// <summary>The next sequence number to be claimed.</summary>
    internal ref long Head => ref *(long*)(_base + HeadOffset);

    /// <summary>How many producers have attached since creation.</summary>
    internal ref int Epoch => ref *(int*)(_base + EpochOffset);

    internal ref int State => ref *(int*)(_base + StateOffset);

    internal ref int BlockingConsumers => ref *(int*)(_base + BlockingConsumersOffset);

    internal ref int WaitFlag => ref *(int*)(_base + WaitFlagOffset);

    internal int* WakeWord => (int*)(_base + WakeWordOffset);

    /// <summary>True after the ring's owner closed it or replaced it.</summary>
    internal bool IsClosed
    {
        get
        {
            bool isClosed = Volatile.Read(ref State) == StateClosed;
            GC.KeepAlive(this);
            return isClosed;
        }
    }

    /// <summary>Creates a ring. An existing one at <paramref name="path"/> is replaced atomically, and closed.</summary>
    /// <exception cref="ArgumentException">The geometry is invalid.</exception>
    /// <exception cref="IOException">The file cannot be written.</exception>
    internal static SharedEventRing Create(string path, EventRingOptions options)
    {
        if (options.Validate() is { } error)
        {
            throw new ArgumentException(error, nameof(options));
        }

        byte[] page = new byte[PageSize];
        EventRingHeader.Write(page, options, options.Time.GetUtcNow().ToUnixTimeMilliseconds());
        string temporary = $"{path}.{Environment.ProcessId}.{Guid.NewGuid():N}";
        try
        {
            using FileStream file = OwnerOnlyFile.Open(temporary, FileMode.CreateNew, FileAccess.ReadWrite, FileShare.Read);
            NativeFile.Allocate(file, FileLength(options.Consumers, options.Capacity, options.SlotSize));
            file.Write(page);
        }
        catch (IOException)
        {
            File.Delete(temporary);
            throw;
        }

        // Readers of the previous ring keep its mapping; at the mark they open the new file.
        if (TryOpen(path, options, writable: true, owner: true, out SharedEventRing? predecessor) == EventRingOpenError.None)
        {
            using (predecessor)
            {
                predecessor!.Close();
            }
        }

        File.Move(temporary, path, overwrite: true);
        EventRingHeader.Read(page, long.MaxValue, out EventRingHeader header);
        return new SharedEventRing(path, header, options, writable: true, owner: true);
    }

    /// <summary>
    /// Opens the ring at <paramref name="path"/> and continues its sequence numbers, if it is intact, has the wanted geometry and was not
    /// closed. Otherwise creates a new one. For the process that owns the ring.
    /// </summary>
    /// <param name="path">The file.</param>
    /// <param name="options">The wanted geometry and the limits.</param>
    /// <param name="refused">Why an existing file was not taken over; <see cref="EventRingOpenError.None"/> if it was.</param>
    internal static SharedEventRing OpenOrCreate(string path, EventRingOptions options, out EventRingOpenError refused)
    {
        refused = TryOpen(path, options, writable: true, owner: true, out SharedEventRing? ring);
        if (refused == EventRingOpenError.None)
        {
            EventRingHeader h = ring!.Header;
            if (!ring.IsClosed && h.Capacity == options.Capacity && h.SlotSize == options.SlotSize && h.Consumers == options.Consumers
                && h.Policy == options.Policy && h.Checksum == options.Checksum)
            {
                const FileShare Shared = FileShare.ReadWrite | FileShare.Delete;
                using (FileStream file = OwnerOnlyFile.Open(path, FileMode.Open, FileAccess.ReadWrite, Shared))
                {
                    NativeFile.Allocate(file, FileLength(h.Consumers, h.Capacity, h.SlotSize));
                }

                ring.RepairClaims();
                return ring;
            }

            refused = EventRingOpenError.BadGeometry;
        }

        return Create(path, options);
    }

    /// <summary>Opens an existing ring; the result names the file's fault.</summary>
    internal static EventRingOpenError TryOpen(string path, EventRingOptions options, bool writable, out SharedEventRing? ring) =>
        TryOpen(path, options, writable, owner: false, out ring);

    private static EventRingOpenError TryOpen(string path, EventRingOptions options, bool writable, bool owner, out SharedEventRing? ring)
    {
        ring = null;
        try
        {
            byte[] page = new byte[PageSize];
            int read;
            long length;
            using (var file = new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete, bufferSize: 0))
            {
                if (owner && !OwnerOnlyFile.IsTrusted(file.SafeFileHandle))
                {
                    // Its owner could shorten it under our mapping.
                    return EventRingOpenError.AccessDenied;
                }

                length = file.Length;
                read = file.ReadAtLeast(page, PageSize, throwOnEndOfStream: false);
            }

            EventRingOpenError error = EventRingHeader.Read(page.AsSpan(0, read), length, out EventRingHeader header);
            if (error == EventRingOpenError.None)
            {
                ring = new SharedEventRing(path, header, options, writable, owner);
            }

            return error;
        }
        catch (Exception e) when (e is FileNotFoundException or DirectoryNotFoundException)
        {
            return EventRingOpenError.NotFound;
        }
        catch (Exception e) when (e is UnauthorizedAccessException or IOException)
        {
            return EventRingOpenError.AccessDenied;
        }
    }

    /// <summary>A new producer. Many threads may share one; each process makes its own.</summary>
    internal EventRingProducer CreateProducer() => new(this);

    /// <summary>A new reader, for one thread at a time.</summary>
    internal EventRingReader CreateReader(EventRingReaderOptions options) => new(this, options);

    /// <summary>The slot of record <paramref name="sequence"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal byte* Slot(long sequence) => Slots[sequence];

    /// <summary>The number in a slot's sequence word plus one, committed or not; defined for all bits of a damaged file.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static ulong Number(long word) => (ulong)(word < 0 ? -word : word);

    /// <summary>Marks the ring as closed for readers, and wakes those that sleep.</summary>
    internal void Close()
    {
        Volatile.Write(ref State, StateClosed);
        Interlocked.Exchange(ref WaitFlag, 0);
        Interlocked.Increment(ref *WakeWord);
        Futex.WakeAll(WakeWord);
        GC.KeepAlive(this);
    }

    /// <summary>
    /// Wakes sleeping readers. The fence orders "commit, then look for sleepers" against the readers' "raise the flag, then look for a
    /// commit". It costs time only while a reader is of the kind that sleeps.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void SignalCommitted()
    {
        if (Volatile.Read(ref BlockingConsumers) != 0)
        {
            WakeSleepers();
        }

        GC.KeepAlive(this);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void WakeSleepers()
    {
        Interlocked.MemoryBarrier();
        // The flag is lowered, so that one wake-up serves all sleepers, and a sleeper that died costs one wake-up and not one per record.
        if (Volatile.Read(ref WaitFlag) != 0 && Interlocked.Exchange(ref WaitFlag, 0) != 0)
        {
            Interlocked.Increment(ref *WakeWord);
            Futex.WakeAll(WakeWord);
        }

        GC.KeepAlive(this);
    }

    /// <summary>
    /// Frees the slots that a crash left half filled. If their producer still lives, it notices on commit that it lost its slot.
    /// </summary>
    private void RepairClaims()
    {
        for (long i = 0; i < Capacity; i++)
        {
            ref long sequence = ref *(long*)Slot(i);
            long seen = Volatile.Read(ref sequence);
            if (seen < 0)
            {
                Interlocked.CompareExchange(ref sequence, 0, seen);
            }
        }

        GC.KeepAlive(this);
    }

    /// <summary>Closes the ring if this object owns it. Running operations of this process's producers and readers may finish.</summary>
    public void Dispose()
    {
        if (_owner)
        {
            Close();
        }
    }
}
