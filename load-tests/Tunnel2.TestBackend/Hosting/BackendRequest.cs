using Microsoft.AspNetCore.Http.Features;

namespace Tunnel2.TestBackend.Hosting;

/// <summary>One request under way; reused for the following requests of its connection.</summary>
internal sealed class BackendRequest
{
    private PathSignals? _signals;
    private CancellationTokenRegistration _abortRegistration;

    public BackendRequest(IFeatureCollection features)
    {
        Http = new DefaultHttpContext(features);
    }

    public DefaultHttpContext Http { get; }

    /// <summary>Marks that the backend itself kills this connection, so that it does not count as aborted by the caller.</summary>
    public static void MarkKilledHere(HttpContext http) => http.Items[typeof(BackendRequest)] = true;

    public void BeginTracking(PathSignals signals)
    {
        _signals = signals;
        _abortRegistration = Http.RequestAborted.UnsafeRegister(static state => ((BackendRequest)state!).OnAborted(), this);
        signals.Arrived.Increment();
    }

    public void StopWatchingForAbort() => _abortRegistration.Dispose();

    public void SignalCompleted()
    {
        _signals?.Completed.Increment();
        _signals = null;
    }

    private void OnAborted()
    {
        if (!Http.Items.ContainsKey(typeof(BackendRequest)))
        {
            _signals?.AbortedByCaller.Increment();
        }
    }
}
