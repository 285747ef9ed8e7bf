namespace Tunnel2.ProxyEntry.Oidc;

/// <summary>
/// Counts the requests for a gate's own paths that run: a provider that does not answer holds up its own gate alone, and who calls one
/// tunnel again and again no other. Thread-safe.
/// </summary>
internal sealed class OidcVisits
{
    /// <summary>How many run at once.</summary>
    public const int Most = 64;

    /// <summary>How many of them for one tunnel.</summary>
    public const int MostOfTunnel = 16;

    private readonly Lock _gate = new();
    private readonly Dictionary<string, int> _tunnels = new(StringComparer.Ordinal);
    private int _count;

    /// <summary>Begins one.</summary>
    /// <returns>False where as many run as may.</returns>
    public bool TryBegin(string tunnel)
    {
        lock (_gate)
        {
            var own = _tunnels.GetValueOrDefault(tunnel);
            if (_count == Most || own == MostOfTunnel)
            {
                return false;
            }

            _count++;
            _tunnels[tunnel] = own + 1;
            return true;
        }
    }

    /// <summary>One has ended.</summary>
    public void End(string tunnel)
    {
        lock (_gate)
        {
            _count--;
            if (--_tunnels[tunnel] is var own && own == 0)
            {
                _tunnels.Remove(tunnel);
            }
        }
    }
}
