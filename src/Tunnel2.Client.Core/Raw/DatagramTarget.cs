using System.Net;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Core.Raw;

/// <summary>
/// Where the service of a tunnel of datagrams is. A name may have several addresses, and the service may be at one of them: no connection
/// shows at which, only an answer, or the refusal of what was sent. Thread-safe.
/// </summary>
/// <param name="target">The service.</param>
internal sealed class DatagramTarget(BackendTarget target)
{
    private volatile IPAddress? _lastGood;
    private volatile IPAddress? _lastBad;

    /// <summary>The service's port.</summary>
    public int Port => target.Port;

    /// <summary>
    /// The addresses in the order in which they are tried: the one that answered last first, the one that failed last at the end.
    /// </summary>
    public async ValueTask<IReadOnlyList<IPAddress>> ResolveAsync(CancellationToken cancellationToken)
    {
        IPAddress[] addresses = target.TriesIPv6Loopback
            ? [IPAddress.Loopback, IPAddress.IPv6Loopback]
            : await Dns.GetHostAddressesAsync(target.Host, cancellationToken).ConfigureAwait(false);
        var (good, bad) = (_lastGood, _lastBad);
        return good is null && bad is null
            ? addresses
            : [.. addresses.OrderBy(address => address.Equals(good) ? 0 : address.Equals(bad) ? 2 : 1)];
    }

    /// <summary>A service answers at an address.</summary>
    public void Answered(IPAddress address) => _lastGood = address;

    /// <summary>Nothing listens at an address.</summary>
    public void Failed(IPAddress address)
    {
        _lastBad = address;
        if (address.Equals(_lastGood))
        {
            _lastGood = null;
        }
    }
}
