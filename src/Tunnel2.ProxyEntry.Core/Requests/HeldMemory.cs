using Tunnel2.Multiplexing.Streams;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// The memory of the process for bodies that are held until their signature is checked. It belongs to the budget for unread bytes, of which
/// it takes at most a quarter: visitors without a signature must not take the memory of others. Thread-safe.
/// </summary>
/// <param name="budget">The budget.</param>
internal sealed class HeldMemory(ReceiveBudget budget)
{
    /// <summary>Which part of the budget may be held.</summary>
    private const int Share = 4;

    private long _held;

    /// <summary>Bytes that are held now.</summary>
    public long Held => Volatile.Read(ref _held);

    /// <summary>Takes memory.</summary>
    /// <returns>False when there is none left.</returns>
    public bool TryTake(int count)
    {
        if (Interlocked.Add(ref _held, count) > budget.Limit / Share)
        {
            Interlocked.Add(ref _held, -count);
            return false;
        }

        if (!budget.TryTake(count))
        {
            Interlocked.Add(ref _held, -count);
            return false;
        }

        return true;
    }

    /// <summary>Gives memory back.</summary>
    public void Return(int count)
    {
        Interlocked.Add(ref _held, -count);
        budget.Return(count);
    }
}
