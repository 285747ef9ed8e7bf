namespace Tunnel2.ProxyEntry.Limits;

/// <summary>
/// How many each visitor's address has of something that is bounded for all: one address must leave a part to the others. IPv6 counts by
/// /64. Only addresses that have something are remembered. Thread-safe.
/// </summary>
/// <param name="most">How many one address may have.</param>
internal sealed class AddressShares(int most)
{
    private readonly Lock _gate = new();
    private readonly Dictionary<AddressKey, int> _taken = [];

    /// <summary>How many one address may have.</summary>
    public int Most { get; } = most;

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

    /// <summary>Takes one.</summary>
    /// <returns>False where the address has as many as it may.</returns>
    public bool TryTake(AddressKey address)
    {
        lock (_gate)
        {
            var taken = _taken.GetValueOrDefault(address);
            if (taken >= Most)
            {
                return false;
            }

            _taken[address] = taken + 1;
            return true;
        }
    }

    /// <summary>Gives one back.</summary>
    public void Return(AddressKey address)
    {
        lock (_gate)
        {
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
