using Tunnel2.Multiplexing.Streams;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Tests.InMemory;

/// <summary>An observer of everything, which keeps what it hears of each request and throws where the test wants it to.</summary>
internal sealed class RecordedMoments : RequestObserver
{
    private readonly Lock _gate = new();
    private readonly Dictionary<ForwardedRequest, List<string>> _moments = [];

    public override RequestMoments Moments => (RequestMoments)~0;

    /// <summary>The moment at which it throws, or null.</summary>
    public string? FailsAt { get; set; }

    /// <summary>What it heard of a request, in order.</summary>
    public IReadOnlyList<string> Of(ForwardedRequest request)
    {
        lock (_gate)
        {
            return _moments.TryGetValue(request, out var moments) ? [.. moments] : [];
        }
    }

    public override void OnBegan(VisitorExchange exchange, ForwardedRequest request) => Add(request, "began");

    public override void OnStreamOpened(VisitorExchange exchange, ForwardedRequest request) => Add(request, "stream opened");

    public override void OnAnswered(VisitorExchange exchange, ForwardedRequest request, in ResponseFacts facts, long at) =>
        Add(request, "answered");

    public override void OnMoved(VisitorExchange exchange, ForwardedRequest request, in StreamFailure failure) =>
        Add(request, $"moved after {failure.Kind}");

    public override void OnStreamEnded(VisitorExchange exchange, ForwardedRequest request) => Add(request, "stream ended");

    public override void OnFailed(VisitorExchange exchange, ForwardedRequest request, bool isAnswered) =>
        Add(request, isAnswered ? $"failed {request.Error} with {request.Status}" : $"failed {request.Error} within the answer");

    public override void OnLasts(ForwardedRequest request) => Add(request, "lasts");

    public override void OnEnded(VisitorExchange exchange, ForwardedRequest request, RequestOutcome outcome) =>
        Add(request, $"ended {outcome}");

    private void Add(ForwardedRequest request, string moment)
    {
        lock (_gate)
        {
            if (!_moments.TryGetValue(request, out var moments))
            {
                _moments.Add(request, moments = []);
            }

            moments.Add(moment);
        }

        if (moment == FailsAt)
        {
            throw new InvalidTimeZoneException();
        }
    }
}
