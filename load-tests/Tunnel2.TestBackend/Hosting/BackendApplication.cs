using System.Collections.Concurrent;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Abstractions;
using Microsoft.AspNetCore.Http.Features;

namespace Tunnel2.TestBackend.Hosting;

/// <summary>
/// What Kestrel calls for each request, in place of ASP.NET's hosting layer (whose diagnostics, scopes and middleware a load backend does
/// not need).
/// </summary>
internal sealed class BackendApplication : IHttpApplication<BackendRequest>
{
    private readonly ConcurrentDictionary<string, PathSignals>? _signals;
    private long _started;
    private long _completed;

    public BackendApplication(bool trackRequests)
    {
        _signals = trackRequests ? new(StringComparer.Ordinal) : null;
    }

    public long Started => Interlocked.Read(ref _started);

    public long Completed => Interlocked.Read(ref _completed);

    /// <exception cref="InvalidOperationException">Requests are not tracked.</exception>
    public PathSignals SignalsOf(string path) =>
        (_signals ?? throw new InvalidOperationException($"Set {nameof(TestBackendOptions.TrackRequests)} to wait for requests."))
        .GetOrAdd(path, static path => new PathSignals(path));

    public BackendRequest CreateContext(IFeatureCollection contextFeatures)
    {
        Interlocked.Increment(ref _started);
        if (contextFeatures is not IHostContextContainer<BackendRequest> container)
        {
            return new BackendRequest(contextFeatures);
        }

        if (container.HostContext is { } reused)
        {
            reused.Http.Initialize(contextFeatures);
            return reused;
        }

        return container.HostContext = new BackendRequest(contextFeatures);
    }

    public Task ProcessRequestAsync(BackendRequest context)
    {
        return _signals is null ? BackendHandler.HandleAsync(context.Http) : ProcessTrackedAsync(context);
    }

    public void DisposeContext(BackendRequest context, Exception? exception)
    {
        context.SignalCompleted();
        context.Http.Uninitialize();
        Interlocked.Increment(ref _completed);
    }

    private async Task ProcessTrackedAsync(BackendRequest context)
    {
        context.BeginTracking(SignalsOf(context.Http.Request.Path.Value ?? ""));
        try
        {
            await BackendHandler.HandleAsync(context.Http);
        }
        finally
        {
            // Before Kestrel sends the end of the response: a caller that has it all and closes has aborted nothing.
            context.StopWatchingForAbort();
        }
    }
}
