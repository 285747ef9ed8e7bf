using Tunnel2.Multiplexing.Streams;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// The memory of the process for bodies that are held until their signature is checked; another one is for large heads over HTTP/2. It
/// belongs to the budget for unread bytes, of which it takes at most a quarter: visitors without a signature must not take the memory of
/// others. A quarter of that is for one address, so that one visitor does not keep out all others. When it is full, the oldest holder of
/// the address that has most gives way to an address that has less: many addresses do not keep out the others either. Thread-safe.
/// </summary>
/// <param name="budget">The budget.</param>
/// <param name="longest">How much one holder may have; one address may have at least one.</param>
internal sealed class HeldMemory(ReceiveBudget budget, long longest)
{
    /// <summary>Which part of the budget may be held, and which part of that for one address.</summary>
    private const int Share = 4;

    private readonly Lock _gate = new();
    private readonly Dictionary<AddressKey, OfAddress> _addresses = [];
    private long _held;
    private long _leaving;

    /// <summary>Bytes that are held now.</summary>
    public long Held => Volatile.Read(ref _held);

    /// <summary>How many bytes may be held. Those that give way have as many again at most, until they have ended.</summary>
    public long Most { get; } = budget.Limit / Share;

    /// <summary>How many bytes one address may have.</summary>
    public long MostOfAddress { get; } = Math.Max(budget.Limit / Share / Share, longest + HeldBody.PieceLength);

    /// <summary>Takes memory. The calls of one holder come one after the other.</summary>
    /// <returns>False when there is none left for the address of the holder, or the holder has to give way.</returns>
    public bool TryTake(MemoryHolder holder, int count)
    {
        lock (_gate)
        {
            var address = _addresses.GetValueOrDefault(holder.From);
            var wanted = (address?.Bytes ?? 0) + count;
            if (holder.IsCut || wanted > MostOfAddress || _held + count > 2 * Most || !budget.TryTake(count))
            {
                return false;
            }

            if (!MakeRoomUnsynchronized(count, wanted))
            {
                budget.Return(count);
                return false;
            }

            if (address is null)
            {
                _addresses.Add(holder.From, address = new OfAddress());
            }

            holder.Place ??= address.Holders.AddLast(holder);
            address.Bytes = wanted;
            holder.Bytes += count;
            Volatile.Write(ref _held, _held + count);
            return true;
        }
    }

    /// <summary>From now on the holder counts for no address and keeps what it has. Once.</summary>
    /// <returns>False when it had to give way before.</returns>
    public bool TryKeep(MemoryHolder holder)
    {
        lock (_gate)
        {
            LeaveUnsynchronized(holder);
            return !holder.IsCut;
        }
    }

    /// <summary>Gives back all that the holder has; nothing where it has nothing.</summary>
    public void Return(MemoryHolder holder)
    {
        lock (_gate)
        {
            LeaveUnsynchronized(holder);
            Volatile.Write(ref _held, _held - holder.Bytes);
            _leaving -= holder.IsCut ? holder.Bytes : 0;
            budget.Return((int)holder.Bytes);
            holder.Bytes = 0;
        }
    }

    /// <summary>Cuts holders of addresses that have more than the one that wants something, until there is room for it.</summary>
    private bool MakeRoomUnsynchronized(int count, long wanted)
    {
        while (_held - _leaving + count > Most)
        {
            OfAddress? largest = null;
            foreach (var one in _addresses.Values)
            {
                largest = largest is null || one.Bytes > largest.Bytes ? one : largest;
            }

            if (largest is null || largest.Bytes <= wanted)
            {
                return false;
            }

            var oldest = largest.Holders.First!.Value;
            LeaveUnsynchronized(oldest);
            oldest.IsCut = true;
            _leaving += oldest.Bytes;
            oldest.GiveWay();
        }

        return true;
    }

    private void LeaveUnsynchronized(MemoryHolder holder)
    {
        if (holder.Place is not { } place)
        {
            return;
        }

        var address = _addresses[holder.From];
        address.Holders.Remove(place);
        address.Bytes -= holder.Bytes;
        holder.Place = null;
        if (address.Holders.Count == 0)
        {
            _addresses.Remove(holder.From);
        }
    }

    /// <summary>What one address has.</summary>
    private sealed class OfAddress
    {
        public long Bytes { get; set; }

        public LinkedList<MemoryHolder> Holders { get; } = new();
    }
}
