using Tunnel2.Multiplexing.Streams;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Opening;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.Http2;

/// <summary>
/// The memory that large heads of requests over HTTP/2 have while these run: compressed, a head of 64 KiB comes in a hundred bytes, and a
/// visitor may have a thousand requests on each connection. They have at most a quarter of the budget for unread bytes, and one address a
/// quarter of that; a request more is refused with REFUSED_STREAM, which clients repeat (RFC 9113 section 8.7). Thread-safe.
/// </summary>
internal sealed class LargeHeads(
    ReceiveBudget budget, ProxyEntrySettings settings, ConnectionMetrics metrics, TimeProvider timeProvider, ILogger<LargeHeads> logger)
{
    /// <summary>The part of each head that does not count: about what a stream takes anyway.</summary>
    private const int Free = 4 * 1024;

    /// <summary>Kestrel keeps fields as text.</summary>
    private const int BytesOfCharacter = 2;

    private readonly HeldMemory _memory = new(budget, BytesOfCharacter * settings.MaxRequestHeadBytes);
    private readonly OncePerSecond _lines = new(timeProvider);

    /// <summary>Takes memory for the head of a request.</summary>
    /// <param name="exchange">The request.</param>
    /// <param name="state">The same, as it is forwarded.</param>
    /// <param name="length">The length of its head, in bytes.</param>
    /// <param name="head">What <see cref="Return"/> gives back; null where it is small.</param>
    /// <returns>False when there is none: the request must not be served.</returns>
    public bool TryTake(VisitorExchange exchange, ForwardedRequest state, long length, out LargeHead? head)
    {
        head = null;
        if (length <= Free)
        {
            return true;
        }

        var visitor = VisitorOrigin.Find(exchange, settings.TrustedProxies);
        var taken = new LargeHead(state, AddressKey.OfAny(visitor));
        if (_memory.TryTake(taken, (int)(BytesOfCharacter * (length - Free))))
        {
            head = taken;
            return true;
        }

        metrics.HeadRefused();
        if (_lines.MayLog())
        {
            ProxyEntryLog.Http2HeadRefused(logger, visitor);
        }

        return false;
    }

    /// <summary>The request has ended, and its head was released.</summary>
    public void Return(LargeHead head) => _memory.Return(head);
}
