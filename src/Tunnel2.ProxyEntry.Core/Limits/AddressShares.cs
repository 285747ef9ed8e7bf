namespace Tunnel2.ProxyEntry.Limits;

/// <summary>
/// How many each visitor's address has of something that is bounded for all. An address gets one only while it has fewer than are free: so
/// any number of them leaves as many to the next as each has. IPv6 counts by /64. Only addresses that have something are remembered.
/// Thread-safe.
/// </summary>
/// <param name="most">How many there are.</param>
/// <param name="mostOfAddress">How many one address may have, however many are free.</param>
internal sealed class AddressShares(int most, int mostOfAddress)
{
    private readonly Lock _gate = new();
    private readonly Dictionary<AddressKey, int> _taken = [];
    private int _count;

    /// <summary>How many are taken now.</summary>
    public int Count => Volatile.Read(ref _count);

    /// <summary>Takes one.</summary>
    /// <returns>False where the address has as many as it may, or none is free.</returns>
    public bool TryTake(AddressKey address)
    {
        lock (_gate)
        {
            var taken = _taken.GetValueOrDefault(address);
            if (taken >= Math.Min(mostOfAddress, most - _count))
            {
                return false;
            }

            _taken[address] = taken + 1;
            _count++;
            return true;
        }
    }

    /// <summary>Gives one back.</summary>
    public void Return(AddressKey address)
    {
        lock (_gate)
        {
            _count--;
            var left = _taken[address] - 1;
            if (left == 0)
            {
                _taken.Remove(address);
            }
            else
            {
                _taken[address] = left;
            }
        }
    }
}
