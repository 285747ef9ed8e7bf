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
    private readonly Dictionary<string, AddressShares> _tunnels = new(StringComparer.Ordinal);
    private readonly AddressShares _all = new(most, most / Tunnels / Addresses);

    /// <summary>How many may run at once for one tunnel.</summary>
    public int MostOfTunnel { get; } = most / Tunnels;

    /// <summary>How many may run at once for one address of visitors, at all tunnels of the gate.</summary>
    public int MostOfAddress { get; } = most / Tunnels / Addresses;

    /// <summary>Begins one.</summary>
    /// <returns>False where as many run as may.</returns>
    public bool TryBegin(string tunnel, AddressKey from)
    {
        lock (_gate)
        {
            if (!_all.TryTake(from))
            {
                return false;
            }

            var own = _tunnels.GetValueOrDefault(tunnel) ?? new AddressShares(MostOfTunnel, MostOfAddress);
            if (!own.TryTake(from))
            {
                _all.Return(from);
                return false;
            }

            _tunnels[tunnel] = own;
            return true;
        }
    }

    /// <summary>One has ended.</summary>
    public void End(string tunnel, AddressKey from)
    {
        lock (_gate)
        {
            _all.Return(from);
            var own = _tunnels[tunnel];
            own.Return(from);
            if (own.Count == 0)
            {
                _tunnels.Remove(tunnel);
            }
        }
    }
}
