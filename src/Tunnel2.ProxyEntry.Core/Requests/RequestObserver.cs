using Tunnel2.Multiplexing.Streams;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// Somebody who looks at requests: counts them, records them, traces them. It is told on the thread that does the request, so it waits for
/// nothing; what it keeps of a request is a <see cref="RequestNote"/>. Thread-safe.
/// </summary>
internal abstract class RequestObserver
{
    /// <summary>What it wants to be told, for good: the others of its methods are never called.</summary>
    public abstract RequestMoments Moments { get; }

    /// <summary>A request has come. Its times have begun; nothing else is known.</summary>
    public virtual void OnBegan(VisitorExchange exchange, ForwardedRequest request)
    {
    }

    /// <summary>The request has a stream, on which its head is written next. <see cref="OnStreamEnded"/> follows exactly once.</summary>
    public virtual void OnStreamOpened(VisitorExchange exchange, ForwardedRequest request)
    {
    }

    /// <summary>The final head of the response has come, and has not been passed on yet.</summary>
    /// <param name="exchange">The request.</param>
    /// <param name="request">Its state.</param>
    /// <param name="facts">What the head says.</param>
    /// <param name="at">When: a timestamp of the request's times.</param>
    public virtual void OnAnswered(VisitorExchange exchange, ForwardedRequest request, in ResponseFacts facts, long at)
    {
    }

    /// <summary>Nothing was done with the request on its stream: it goes to another one.</summary>
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

    /// <summary>ProxyEntry fails the request for <see cref="ForwardedRequest.Error"/>, by its own decision.</summary>
    /// <param name="exchange">The request.</param>
    /// <param name="request">Its state.</param>
    /// <param name="isAnswered">Whether the visitor gets an answer, which is written next; else a response that has begun is cut.</param>
    public virtual void OnFailed(VisitorExchange exchange, ForwardedRequest request, bool isAnswered)
    {
    }

    /// <summary>
    /// An upgraded connection goes on. Called about once a second by another thread: the request cannot end meanwhile, and its exchange is
    /// not to be asked.
    /// </summary>
    public virtual void OnLasts(ForwardedRequest request)
    {
    }

    /// <summary>The request is over, one way or another: all that will be known of it is known.</summary>
    public virtual void OnEnded(VisitorExchange exchange, ForwardedRequest request, RequestOutcome outcome)
    {
    }
}
