using Microsoft.AspNetCore.Http.Features;

namespace Tunnel2.TestBackend.Hosting;

/// <summary>One request under way; reused for the following requests of its connection.</summary>
internal sealed class BackendRequest
{
    private PathSignals? _signals;
    private CancellationTokenRegistration _abortRegistration;
    private int _isAbortCounted;

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
        _isAbortCounted = 0;
        _abortRegistration = Http.RequestAborted.UnsafeRegister(static state => ((BackendRequest)state!).OnAborted(), this);
        signals.Arrived.Increment();
    }

    /// <summary>
    /// An abort that has come by now counts: the handler that it ended may run on before the callback that says so is called.
    /// </summary>
    public void StopWatchingForAbort()
    {
        _abortRegistration.Dispose();
        if (_abortRegistration.Token.IsCancellationRequested)
        {
            OnAborted();
        }
    }

    public void SignalCompleted()
    {
        _signals?.Completed.Increment();
        _signals = null;
    }

    private void OnAborted()
    {
        if (!Http.Items.ContainsKey(typeof(BackendRequest)) && Interlocked.Exchange(ref _isAbortCounted, 1) == 0)
        {
            _signals?.AbortedByCaller.Increment();
        }
    }
}
