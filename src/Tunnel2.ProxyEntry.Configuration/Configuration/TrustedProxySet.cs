using System.Collections.Immutable;
using System.Net;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The networks whose forwarding headers are trusted. Immutable. Ask once per connection, not per request.</summary>
internal sealed class TrustedProxySet
{
    private readonly ImmutableArray<IPNetwork> _networks;

    public TrustedProxySet(ImmutableArray<IPNetwork> networks) => _networks = networks;

    /// <summary>Whether no address is trusted.</summary>
    public bool IsEmpty => _networks.IsEmpty;

    /// <summary>Whether an address is trusted; an IPv4 address mapped into IPv6 counts as IPv4.</summary>
    public bool Contains(IPAddress? address)
    {
        if (address is null || _networks.IsEmpty)
        {
            return false;
        }

        var mapped = address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address;
        foreach (var network in _networks)
        {
            if (network.Contains(mapped))
            {
                return true;
            }
        }

        return false;
    }
}
