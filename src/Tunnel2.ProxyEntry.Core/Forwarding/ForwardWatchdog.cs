using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Forwarding;

/// <summary>
/// Ends requests that stall for longer than the limits. All requests share one timer, and each event loop has its own list, so that
/// loops do not wait for each other. Limits are accurate to a second. Thread-safe.
/// </summary>
internal sealed class ForwardWatchdog : IDisposable
{
    private static readonly TimeSpan _period = TimeSpan.FromSeconds(1);

    /// <summary>
    /// How much longer a body of another node may stall, in milliseconds: that node has the same limit, and is first.
    /// </summary>
    private const long CarriedGrace = 5_000;

    private readonly WatchedRequests[] _lists = [.. Enumerable.Range(0, Stripe.Count).Select(static _ => new WatchedRequests())];
    private readonly long _headLimit;
    private readonly long _bodyLimit;
    private readonly RequestObservers _observers;
    private readonly ContainedFaults _faults;
    private readonly CoarseClock _clock;
    private readonly ITimer _timer;

    public ForwardWatchdog(
        ProxyEntrySettings settings, RequestObservers observers, TimeProvider timeProvider, ContainedFaults? faults = null)
    {
        _clock = new CoarseClock(timeProvider);
        _faults = faults ?? new ContainedFaults(timeProvider);
        _observers = observers;
        _headLimit = Milliseconds(settings.BackendHeadersTimeout);
        _bodyLimit = Milliseconds(settings.BodyIdleTimeout);
        _timer = timeProvider.CreateTimer(static self => ((ForwardWatchdog)self!).OnTimer(), this, _period, _period);
    }

    public void Add(ForwardedRequest request)
    {
        request.WatchedBy = Stripe.Current;
        _lists[request.WatchedBy].Add(request);
    }

    public void Remove(ForwardedRequest request) => _lists[request.WatchedBy].Remove(request);

    /// <summary>
    /// Waits for something that only the visitor can end. After the limit of stalled bodies, the visitor is cut.
    /// </summary>
    /// <param name="exchange">The visitor's exchange.</param>
    /// <param name="request">Its state; it may already be watched.</param>
    /// <param name="sending">What is waited for.</param>
    public ValueTask WaitForVisitorAsync(VisitorExchange exchange, ForwardedRequest request, Task sending) =>
        sending.IsCompletedSuccessfully ? default : AwaitVisitorAsync(exchange, request, sending);

    /// <summary>Shows all requests that are watched, those of a list under its lock.</summary>
    public void Visit(Action<ForwardedRequest> look)
    {
        foreach (var list in _lists)
        {
            list.Visit(look);
        }
    }

    public void Dispose() => _timer.Dispose();

    private async ValueTask AwaitVisitorAsync(VisitorExchange exchange, ForwardedRequest request, Task sending)
    {
        var isNew = request.Next is null;
        request.BeginVisitorWait(exchange);
        if (isNew)
        {
            Add(request);
        }

        try
        {
            await sending.ConfigureAwait(false);
        }
        finally
        {
            if (isNew)
            {
                Remove(request);
            }

            request.EndVisitorWait();
        }
    }

    private void OnTimer() => _faults.Run("requests' limits", static self => self.Look(), this);

    private void Look()
    {
        List<(ForwardedRequest Request, int Use, bool Head)>? late = null;
        var now = _clock.Milliseconds;
        foreach (var list in _lists)
        {
            list.Visit(request =>
            {
                var idle = request.IdleMilliseconds(now);
                if (request is { OwnIdleLimit: { } limit, Phase: ForwardPhase.Upgraded })
                {
                    if (idle > limit)
                    {
                        (late ??= []).Add((request, request.Use, false));
                    }
                    else
                    {
                        _faults.Run("requests' limits", static report => report._observers.Lasts(report.request), (_observers, request));
                    }
                }
                else if (request.WaitsForVisitor && idle > _bodyLimit)
                {
                    (late ??= []).Add((request, request.Use, false));
                }
                else if (request.IsCarried && idle - CarriedGrace <= _bodyLimit && request.Phase != ForwardPhase.Upgraded)
                {
                    // The node of its session keeps the limits of services, and says so with its own answer.
                }
                else if (request.Phase == ForwardPhase.Head && !request.IsCarried && idle > Math.Min(_headLimit, request.HeadLimit))
                {
                    (late ??= []).Add((request, request.Use, true));
                }
                else if (request.Phase == ForwardPhase.Upgraded)
                {
                    _faults.Run("requests' limits", static report => report._observers.Lasts(report.request), (_observers, request));
                }
                else if (request.Phase is ForwardPhase.Upload or ForwardPhase.Body && idle > _bodyLimit)
                {
                    (late ??= []).Add((request, request.Use, false));
                }
            });
        }

        foreach (var one in late ?? [])
        {
            _faults.Run("requests' limits", Cut, one);
        }
    }

    private static void Cut((ForwardedRequest Request, int Use, bool Head) late)
    {
        if (late.Head)
        {
            late.Request.Cut(late.Use, ProxyError.BackendTimeout, StreamResetReason.BackendTimeout);
            return;
        }

        // An upload without an answer whose visitor sends nothing more is not the service's fault.
        var (error, reason) = late.Request is { Phase: ForwardPhase.Upload, WaitsForBody: true }
            ? (ProxyError.RequestTimeout, StreamResetReason.Cancel)
            : (ProxyError.BodyIdleTimeout, StreamResetReason.BackendTimeout);
        late.Request.Cut(late.Use, error, reason, StreamResetDetail.BodyIdle);
    }

    private static long Milliseconds(TimeSpan limit) => limit == Timeout.InfiniteTimeSpan ? long.MaxValue : (long)limit.TotalMilliseconds;
}
