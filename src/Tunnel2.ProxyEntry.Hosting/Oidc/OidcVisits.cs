using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Oidc;

/// <summary>
/// Counts what runs at once for a gate: a provider that does not answer, or a flood of forged cookies, holds up its own gate alone, and
/// who calls one tunnel again and again no other, nor all other visitors of that tunnel. Thread-safe.
/// </summary>
/// <param name="most">How many may run at once.</param>
internal sealed class OidcVisits(int most)
{
    private const int Tunnels = 4;
    private const int Addresses = 2;

    private readonly Lock _gate = new();
    private readonly Dictionary<string, int> _tunnels = new(StringComparer.Ordinal);
    private readonly AddressShares _addresses = new(most / Tunnels / Addresses);
    private int _count;

    /// <summary>How many may run at once for one tunnel.</summary>
    public int MostOfTunnel { get; } = most / Tunnels;

    /// <summary>How many may run at once for one address of visitors, at all tunnels of the gate.</summary>
    public int MostOfAddress => _addresses.Most;

    /// <summary>Begins one.</summary>
    /// <returns>False where as many run as may.</returns>
    public bool TryBegin(string tunnel, AddressKey from)
    {
        if (!_addresses.TryTake(from))
        {
            return false;
        }

        if (TryBegin(tunnel))
        {
            return true;
        }

        _addresses.Return(from);
        return false;
    }

    /// <summary>One has ended.</summary>
    public void End(string tunnel, AddressKey from)
    {
        _addresses.Return(from);
        lock (_gate)
        {
            _count--;
            if (--_tunnels[tunnel] is var own && own == 0)
            {
                _tunnels.Remove(tunnel);
            }
        }
    }

    private bool TryBegin(string tunnel)
    {
        lock (_gate)
        {
            var own = _tunnels.GetValueOrDefault(tunnel);
            if (_count == most || own == MostOfTunnel)
            {
                return false;
            }

            _count++;
            _tunnels[tunnel] = own + 1;
            return true;
        }
    }
}
