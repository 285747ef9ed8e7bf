using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// Reports once that the backend cannot be reached, and once that it can again. It learns from every connection that requests open, and
/// connects by itself at the start and while the backend is down. Thread-safe.
/// </summary>
internal sealed class BackendWatch : IDisposable
{
    private const int Unknown = 0;
    private const int Good = 1;
    private const int Bad = 2;

    private static readonly TimeSpan _firstLook = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan _longestLook = TimeSpan.FromSeconds(10);

    private readonly BackendConnector _connector;
    private readonly BackendTarget _target;
    private readonly IAgentEvents _events;
    private readonly TimeProvider _timeProvider;
    private readonly CancellationTokenSource _ended = new();
    private readonly CancellationToken _stop;
    private int _state;

    private BackendWatch(BackendConnector connector, BackendTarget target, IAgentEvents events, TimeProvider timeProvider)
    {
        _connector = connector;
        _target = target;
        _events = events;
        _timeProvider = timeProvider;
        _stop = _ended.Token;
    }

    /// <summary>Begins with a first look; returns at once.</summary>
    public static BackendWatch Start(BackendConnector connector, BackendTarget target, IAgentEvents events, TimeProvider timeProvider)
    {
        var watch = new BackendWatch(connector, target, events, timeProvider);
        connector.Observer = watch.Observe;

        // On the pool: a resolver may block, and the caller may be an engine's thread.
        _ = Task.Run(watch.LookAsync, CancellationToken.None);
        return watch;
    }

    /// <summary>Ends it: it reports nothing more.</summary>
    public void Dispose()
    {
        _connector.Observer = null;

        // Not disposed of: a look that is under way still asks its token, and there is no timer in it.
        _ended.Cancel();
    }

    private void Observe(BackendFailure failure)
    {
        if (failure.IsNone)
        {
            if (Volatile.Read(ref _state) != Good && Interlocked.Exchange(ref _state, Good) == Bad)
            {
                _events.BackendReachable(_target);
            }
        }
        else if (!_stop.IsCancellationRequested && Volatile.Read(ref _state) != Bad && Interlocked.Exchange(ref _state, Bad) != Bad)
        {
            _events.BackendUnreachable(_target, BackendWords.Unreachable(_target, failure));
            _ = Task.Run(WaitForItAsync, CancellationToken.None);
        }
    }

    /// <summary>Connects, which observes, and closes.</summary>
    private async Task LookAsync()
    {
        try
        {
            var (connection, _) = await _connector.ConnectAsync(null, _stop).ConfigureAwait(false);
            connection?.Dispose();
        }
        catch (OperationCanceledException)
        {
            // Stopped.
        }
        catch (Exception)
        {
            // A fault of our own says nothing about the backend; the next look may.
        }
    }

    private async Task WaitForItAsync()
    {
        var pause = _firstLook;
        try
        {
            while (Volatile.Read(ref _state) == Bad)
            {
                await Task.Delay(pause, _timeProvider, _stop).ConfigureAwait(false);
                await LookAsync().ConfigureAwait(false);
                pause = pause * 2 < _longestLook ? pause * 2 : _longestLook;
            }
        }
        catch (OperationCanceledException)
        {
            // Stopped.
        }
    }
}
