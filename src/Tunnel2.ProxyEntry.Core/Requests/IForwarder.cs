namespace Tunnel2.ProxyEntry.Requests;

/// <summary>What a front gives requests to. Thread-safe.</summary>
internal interface IForwarder
{
    /// <summary>Has one request answered, one way or another. Never throws.</summary>
    /// <param name="exchange">The request, from its front.</param>
    /// <param name="request">Where its state is kept.</param>
    ValueTask ForwardAsync(VisitorExchange exchange, ForwardedRequest request);
}
