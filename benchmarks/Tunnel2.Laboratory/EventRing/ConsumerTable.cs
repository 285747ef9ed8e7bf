using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Text;
using Tunnel2.Telemetry.EventRing;
using static Tunnel2.Telemetry.EventRing.EventRingLayout;

namespace Tunnel2.Laboratory.EventRing;

/// <summary>
/// The registered consumers. Only under <see cref="EventRingPolicy.WaitForSlowest"/> do producers heed it; under the other policy
/// it shows who reads. Lossy readers need no entry. Holds nothing itself: any number of them show the same table. Safe on any thread.
/// </summary>
internal sealed unsafe class ConsumerTable
{
    private readonly SharedEventRing _ring;

    internal ConsumerTable(SharedEventRing ring)
    {
        _ring = ring;
    }

    /// <summary>Changes when a consumer joins or comes back, so that producers drop the minimum they remember.</summary>
    internal int Version
    {
        get
        {
            int version = Volatile.Read(ref *(int*)(Page + TableVersionOffset));
            GC.KeepAlive(_ring);
            return version;
        }
    }

    /// <summary>The ring's first page: the head is the one field of it that the ring shows.</summary>
    private byte* Page => (byte*)Unsafe.AsPointer(ref _ring.Head) - HeadOffset;

    /// <summary>Where an entry lies. Its user keeps the ring alive.</summary>
    internal byte* Entry(int index) => Page + PageSize + ((long)index * ConsumerEntrySize);

    /// <summary>Makes producers look at the table again.</summary>
    internal void SayChanged()
    {
        Interlocked.Increment(ref *(int*)(Page + TableVersionOffset));
        GC.KeepAlive(_ring);
    }

    /// <summary>Takes a free entry, or one whose process is gone; −1 when the table is full of the living.</summary>
    internal int TryRegister(string name, long cursor, out long word)
    {
        for (int i = 0; i < _ring.Header.Consumers; i++)
        {
            byte* entry = Entry(i);
            long seen = Volatile.Read(ref *(long*)entry);
            if (ConsumerState.Status(seen) != ConsumerState.Free && IsAlive(ConsumerState.ProcessId(seen)))
            {
                continue;
            }

            long joining = ConsumerState.Next(seen, Environment.ProcessId);
            if (Interlocked.CompareExchange(ref *(long*)entry, joining, seen) != seen)
            {
                continue;
            }

            var text = new Span<byte>(entry + ConsumerNameOffset, ConsumerNameLength);
            text.Clear();
            Encoding.UTF8.TryGetBytes(name.AsSpan(0, Math.Min(name.Length, ConsumerNameLength / 3)), text, out _);
            Volatile.Write(ref *(long*)(entry + ConsumerBeatOffset), 0);
            Volatile.Write(ref *(long*)(entry + ConsumerCursorOffset), cursor);
            word = ConsumerState.With(joining, ConsumerState.Active);
            Interlocked.Exchange(ref *(long*)entry, word); // A full fence: the caller re-reads the head after it.
            SayChanged();
            GC.KeepAlive(_ring);
            return i;
        }

        word = 0;
        return -1;
    }

    /// <summary>Frees the entry if it still belongs to the owner of <paramref name="word"/>.</summary>
    internal void Release(int index, long word)
    {
        ref long state = ref *(long*)Entry(index);
        long free = ConsumerState.With(word & 0xFFFF_FFFF, ConsumerState.Free);
        if (Interlocked.CompareExchange(ref state, free, word) != word)
        {
            Interlocked.CompareExchange(ref state, free, ConsumerState.With(word, ConsumerState.Skipped));
        }

        GC.KeepAlive(_ring);
    }

    /// <summary>
    /// The lowest cursor of the active consumers, or <paramref name="head"/> when there is none. The caller must have read
    /// <paramref name="head"/> before the call: a consumer that joins during the call starts at or after it.
    /// </summary>
    internal long MinimumCursor(long head)
    {
        long minimum = head;
        for (int i = 0; i < _ring.Header.Consumers; i++)
        {
            byte* entry = Entry(i);
            if (ConsumerState.Status(Volatile.Read(ref *(long*)entry)) == ConsumerState.Active)
            {
                minimum = Math.Min(minimum, Volatile.Read(ref *(long*)(entry + ConsumerCursorOffset)));
            }
        }

        GC.KeepAlive(_ring);
        return minimum;
    }

    /// <summary>The beat of a consumer that is active and holds back claims from <paramref name="limit"/> on; false otherwise.</summary>
    internal bool TryGetBlocker(int index, long limit, out long word, out long beat)
    {
        byte* entry = Entry(index);
        word = Volatile.Read(ref *(long*)entry);
        beat = Volatile.Read(ref *(long*)(entry + ConsumerBeatOffset));
        bool isBlocker = ConsumerState.Status(word) == ConsumerState.Active
            && Volatile.Read(ref *(long*)(entry + ConsumerCursorOffset)) <= limit;
        GC.KeepAlive(_ring);
        return isBlocker;
    }

    /// <summary>Continues without the consumer; it finds out at its next poll.</summary>
    internal void Skip(int index, long word)
    {
        Interlocked.CompareExchange(ref *(long*)Entry(index), ConsumerState.With(word, ConsumerState.Skipped), word);
        GC.KeepAlive(_ring);
    }

    /// <summary>A picture of the table, for displays.</summary>
    internal List<ConsumerInfo> List()
    {
        var list = new List<ConsumerInfo>();
        for (int i = 0; i < _ring.Header.Consumers; i++)
        {
            byte* entry = Entry(i);
            long word = Volatile.Read(ref *(long*)entry);
            if (ConsumerState.Status(word) is ConsumerState.Active or ConsumerState.Skipped)
            {
                var name = new ReadOnlySpan<byte>(entry + ConsumerNameOffset, ConsumerNameLength);
                list.Add(new ConsumerInfo(
                    Encoding.UTF8.GetString(name.TrimEnd((byte)0)),
                    ConsumerState.ProcessId(word),
                    Volatile.Read(ref *(long*)(entry + ConsumerCursorOffset)),
                    ConsumerState.Status(word) == ConsumerState.Skipped));
            }
        }

        GC.KeepAlive(_ring);
        return list;
    }

    private static bool IsAlive(int processId)
    {
        if (processId == Environment.ProcessId)
        {
            return true;
        }

        try
        {
            using var process = Process.GetProcessById(processId);
            return !process.HasExited;
        }
        catch (ArgumentException)
        {
            return false;
        }
        catch (InvalidOperationException)
        {
            return false;
        }
    }
}
