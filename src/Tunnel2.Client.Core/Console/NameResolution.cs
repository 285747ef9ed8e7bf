using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Client.Core.Console;

/// <summary>Whether a host name has an address on this machine.</summary>
internal static class NameResolution
{
    /// <summary>
    /// How long an answer is waited for; a name that takes longer counts as one that resolves, because nothing speaks against it.
    /// </summary>
    public static readonly TimeSpan Limit = TimeSpan.FromMilliseconds(300);

    /// <summary>Asks the system's resolver for <paramref name="host"/>, for at most <see cref="Limit"/>.</summary>
    public static Task<bool> ResolvesAsync(string host, CancellationToken cancellationToken) =>
        ResolvesWithinAsync(host, Limit, cancellationToken);

    /// <summary>The same, for at most <paramref name="limit"/>.</summary>
    public static async Task<bool> ResolvesWithinAsync(string host, TimeSpan limit, CancellationToken cancellationToken)
    {
        try
        {
            // WaitAsync and not only a token: on several systems a lookup under way cannot be cancelled.
            IPAddress[] addresses = await Dns.GetHostAddressesAsync(host, cancellationToken).WaitAsync(limit, cancellationToken)
                .ConfigureAwait(false);
            return addresses.Length > 0;
        }
        catch (Exception exception) when (exception is SocketException or ArgumentException)
        {
            return false;
        }
        catch (TimeoutException)
        {
            return true;
        }
    }
}
