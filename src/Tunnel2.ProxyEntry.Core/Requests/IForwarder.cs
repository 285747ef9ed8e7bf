namespace Tunnel2.ProxyEntry.Requests;

/// <summary>Fronts give their requests to it. Thread-safe.</summary>
internal interface IForwarder
{
    /// <summary>Answers one request, with the backend's response or an error. Never throws.</summary>
    /// <param name="exchange">The request, from its front.</param>
    /// <param name="request">The object for its state.</param>
    ValueTask ForwardAsync(VisitorExchange exchange, ForwardedRequest request);
}
