namespace Tunnel2.ProxyEntry.Limits;

/// <summary>
/// How much each visitor's address has of something that is bounded for all: one address must leave a part to the others. IPv6 counts by
/// /64. Only addresses that have something are remembered. Thread-safe.
/// </summary>
/// <param name="most">How much one address may have.</param>
internal sealed class AddressShares(long most)
{
    private readonly Lock _gate = new();
    private readonly Dictionary<AddressKey, long> _taken = [];

    /// <summary>How much one address may have.</summary>
    public long Most { get; } = most;

    /// <summary>Addresses that have something now.</summary>
    public int Count
    {
        get
        {
            lock (_gate)
            {
                return _taken.Count;
            }
        }
    }

    /// <summary>Takes something.</summary>
    /// <returns>False where the address would have more than it may; then it got nothing.</returns>
    public bool TryTake(AddressKey address, long count = 1)
    {
        lock (_gate)
        {
            var taken = _taken.GetValueOrDefault(address) + count;
            if (taken > Most)
            {
                return false;
            }

            _taken[address] = taken;
            return true;
        }
    }

    /// <summary>Gives it back.</summary>
    public void Return(AddressKey address, long count = 1)
    {
        lock (_gate)
        {
            var left = _taken[address] - count;
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
