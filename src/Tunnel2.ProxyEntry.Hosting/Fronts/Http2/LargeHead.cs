using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.Http2;

/// <summary>What the head of a running request counts for.</summary>
/// <param name="request">The request, which ends when the head has to give way.</param>
/// <param name="from">The address for which it counts.</param>
internal sealed class LargeHead(ForwardedRequest request, AddressKey from) : MemoryHolder(from)
{
    /// <inheritdoc/>
    public override void GiveWay()
    {
        // On the pool: what waits for the request continues inside the call.
        var use = request.Use;
        ThreadPool.UnsafeQueueUserWorkItem(
            _ => request.Cut(use, ProxyError.PlacesTaken, StreamResetReason.Cancel), null);
    }
}
