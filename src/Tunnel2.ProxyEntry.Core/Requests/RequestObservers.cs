using Tunnel2.Multiplexing.Streams;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// The observers of requests, called in the order of the list. Each moment has an array of the observers that want it: an absent observer
/// costs nothing, and a new one changes no code of the forwarder. Immutable; thread-safe.
/// </summary>
internal sealed class RequestObservers
{
    private readonly RequestObserver[] _began;
    private readonly RequestObserver[] _streamOpened;
    private readonly RequestObserver[] _answered;
    private readonly RequestObserver[] _moved;
    private readonly RequestObserver[] _streamEnded;
    private readonly RequestObserver[] _failed;
    private readonly RequestObserver[] _lasts;
    private readonly RequestObserver[] _ended;
    private readonly RequestObserver[] _carried;

    /// <param name="observers">All observers.</param>
    public RequestObservers(IReadOnlyCollection<RequestObserver> observers)
    {
        _began = Those(RequestMoments.Began);
        _streamOpened = Those(RequestMoments.StreamOpened);
        _answered = Those(RequestMoments.Answered);
        _moved = Those(RequestMoments.Moved);
        _streamEnded = Those(RequestMoments.StreamEnded);
        _failed = Those(RequestMoments.Failed);
        _lasts = Those(RequestMoments.Lasts);
        _ended = Those(RequestMoments.Ended);
        _carried = Those(RequestMoments.Carried);

        RequestObserver[] Those(RequestMoments moment) => [.. observers.Where(observer => (observer.Moments & moment) != 0)];
    }

    /// <inheritdoc cref="RequestObserver.OnBegan"/>
    public void Began(VisitorExchange exchange, ForwardedRequest request)
    {
        foreach (var observer in _began)
        {
            observer.OnBegan(exchange, request);
        }
    }

    /// <inheritdoc cref="RequestObserver.OnStreamOpened"/>
    public void StreamOpened(VisitorExchange exchange, ForwardedRequest request)
    {
        foreach (var observer in _streamOpened)
        {
            observer.OnStreamOpened(exchange, request);
        }
    }

    /// <inheritdoc cref="RequestObserver.OnAnswered"/>
    public void Answered(VisitorExchange exchange, ForwardedRequest request, in ResponseFacts facts, long at)
    {
        foreach (var observer in _answered)
        {
            observer.OnAnswered(exchange, request, facts, at);
        }
    }

    /// <inheritdoc cref="RequestObserver.OnMoved"/>
    public void Moved(VisitorExchange exchange, ForwardedRequest request, in StreamFailure failure)
    {
        foreach (var observer in _moved)
        {
            observer.OnMoved(exchange, request, failure);
        }
    }

    /// <inheritdoc cref="RequestObserver.OnStreamEnded"/>
    public void StreamEnded(VisitorExchange exchange, ForwardedRequest request)
    {
        foreach (var observer in _streamEnded)
        {
            observer.OnStreamEnded(exchange, request);
        }
    }

    /// <inheritdoc cref="RequestObserver.OnFailed"/>
    public void Failed(VisitorExchange exchange, ForwardedRequest request, bool isAnswered)
    {
        foreach (var observer in _failed)
        {
            observer.OnFailed(exchange, request, isAnswered);
        }
    }

    /// <inheritdoc cref="RequestObserver.OnLasts"/>
    public void Lasts(ForwardedRequest request)
    {
        foreach (var observer in _lasts)
        {
            observer.OnLasts(request);
        }
    }

    /// <inheritdoc cref="RequestObserver.OnCarried"/>
    public void Carried(VisitorExchange exchange, ForwardedRequest request, RequestOutcome outcome)
    {
        foreach (var observer in _carried)
        {
            observer.OnCarried(exchange, request, outcome);
        }
    }

    /// <inheritdoc cref="RequestObserver.OnEnded"/>
    public void Ended(VisitorExchange exchange, ForwardedRequest request, RequestOutcome outcome)
    {
        // What a front holds for a visitor that takes no more was written, and never sent.
        if (outcome is RequestOutcome.VisitorAborted or RequestOutcome.Aborted
            && exchange.BodySent is { } sent && sent < request.BytesSent)
        {
            request.BytesSent = sent;
        }

        foreach (var observer in _ended)
        {
            observer.OnEnded(exchange, request, outcome);
        }
    }
}
