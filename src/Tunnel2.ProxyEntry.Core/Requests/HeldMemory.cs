using Tunnel2.Multiplexing.Streams;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// The memory of the process for bodies that are held until their signature is checked; another one is for large heads over HTTP/2. It
/// belongs to the budget for unread bytes, of which it takes at most a quarter: visitors without a signature must not take the memory of
/// others. A quarter of that is for the unchecked bodies of one address, so that one visitor does not keep out the webhooks of all.
/// Thread-safe.
/// </summary>
/// <param name="budget">The budget.</param>
/// <param name="longestBody">How long a body may be; one address may send at least one.</param>
internal sealed class HeldMemory(ReceiveBudget budget, long longestBody)
{
    /// <summary>Which part of the budget may be held, and which part of that for one address.</summary>
    private const int Share = 4;

    private readonly AddressShares _addresses = new(Math.Max(budget.Limit / Share / Share, longestBody + HeldBody.PieceLength));
    private long _held;

    /// <summary>Bytes that are held now.</summary>
    public long Held => Volatile.Read(ref _held);

    /// <summary>How many bytes one address may have that are not checked.</summary>
    public long MostOfAddress => _addresses.Most;

    /// <summary>Takes memory for a body that is not checked yet.</summary>
    /// <returns>False when there is none left, or none for the address.</returns>
    public bool TryTake(int count, AddressKey from)
    {
        if (!_addresses.TryTake(from, count))
        {
            return false;
        }

        if (Interlocked.Add(ref _held, count) <= budget.Limit / Share && budget.TryTake(count))
        {
            return true;
        }

        Interlocked.Add(ref _held, -count);
        _addresses.Return(from, count);
        return false;
    }

    /// <summary>The body was checked: from now on it counts for its address no more.</summary>
    public void Release(AddressKey from, long count)
    {
        if (count > 0)
        {
            _addresses.Return(from, count);
        }
    }

    /// <summary>Gives memory back that counts for no address.</summary>
    public void Return(int count)
    {
        Interlocked.Add(ref _held, -count);
        budget.Return(count);
    }
}
