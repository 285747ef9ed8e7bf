using Tunnel2.Multiplexing.Streams;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// Observes requests: counts, records or traces them. It is called on the thread that serves the request, so it must not wait. What it
/// keeps of a request is a <see cref="RequestNote"/>. Thread-safe.
/// </summary>
internal abstract class RequestObserver
{
    /// <summary>The moments that it wants, constant. The methods of other moments are never called.</summary>
    public abstract RequestMoments Moments { get; }

    /// <summary>A request has arrived. Its times have begun; nothing else is known yet.</summary>
    public virtual void OnBegan(VisitorExchange exchange, ForwardedRequest request)
    {
    }

    /// <summary>The request has a stream; its head will be written next. <see cref="OnStreamEnded"/> follows exactly once.</summary>
    public virtual void OnStreamOpened(VisitorExchange exchange, ForwardedRequest request)
    {
    }

    /// <summary>The final head of the response has arrived and was not passed on yet.</summary>
    /// <param name="exchange">The request.</param>
    /// <param name="request">Its state.</param>
    /// <param name="facts">What the head contains.</param>
    /// <param name="at">When: a timestamp of the request's times.</param>
    public virtual void OnAnswered(VisitorExchange exchange, ForwardedRequest request, in ResponseFacts facts, long at)
    {
    }

    /// <summary>Nothing was done with the request on its stream, and it moves to another one.</summary>
    /// <param name="exchange">The request.</param>
    /// <param name="request">Its state.</param>
    /// <param name="failure">Why.</param>
    public virtual void OnMoved(VisitorExchange exchange, ForwardedRequest request, in StreamFailure failure)
    {
    }

    /// <summary>The stream was released.</summary>
    public virtual void OnStreamEnded(VisitorExchange exchange, ForwardedRequest request)
    {
    }

    /// <summary>ProxyEntry itself fails the request with <see cref="ForwardedRequest.Error"/>.</summary>
    /// <param name="exchange">The request.</param>
    /// <param name="request">Its state.</param>
    /// <param name="isAnswered">
    /// Whether the visitor gets an answer, which is written next; otherwise a response that has begun is cut.
    /// </param>
    public virtual void OnFailed(VisitorExchange exchange, ForwardedRequest request, bool isAnswered)
    {
    }

    /// <summary>
    /// An upgraded connection still runs. Another thread calls this about once a second: the request cannot end during the call, and its
    /// exchange must not be used.
    /// </summary>
    public virtual void OnLasts(ForwardedRequest request)
    {
    }

    /// <summary>The request is over, and another node has served it: that node counts and records it. In place of the next one.</summary>
    public virtual void OnCarried(VisitorExchange exchange, ForwardedRequest request, RequestOutcome outcome)
    {
    }

    /// <summary>The request is over, and all that will be known about it is known.</summary>
    public virtual void OnEnded(VisitorExchange exchange, ForwardedRequest request, RequestOutcome outcome)
    {
    }
}
