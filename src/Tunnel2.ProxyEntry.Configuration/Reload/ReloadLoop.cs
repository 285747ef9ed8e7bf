using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.ProxyEntry.Reload;

/// <summary>Looks every two seconds whether something is to be read again, on the thread pool.</summary>
internal sealed class ReloadLoop : IAsyncDisposable
{
    /// <summary>Between two looks. A revoked token is dead after this long.</summary>
    public static readonly TimeSpan Period = TimeSpan.FromSeconds(2);

    private readonly IReadOnlyList<IReloadable> _reloadables;
    private readonly TimeProvider _timeProvider;
    private readonly ContainedFaults _faults;
    private PeriodicTimer? _timer;
    private Task _loop = Task.CompletedTask;

    public ReloadLoop(IReadOnlyList<IReloadable> reloadables, TimeProvider timeProvider, ContainedFaults? faults = null)
    {
        _faults = faults ?? new ContainedFaults(timeProvider);
        _reloadables = reloadables;
        _timeProvider = timeProvider;
    }

    /// <summary>Starts it; with nothing to look at there is no loop.</summary>
    public void Start()
    {
        if (_reloadables.Count > 0)
        {
            _timer = new PeriodicTimer(Period, _timeProvider);
            _loop = RunAsync(_timer);
        }
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        _timer?.Dispose();
        await _loop.ConfigureAwait(false);
    }

    private async Task RunAsync(PeriodicTimer timer)
    {
        while (await timer.WaitForNextTickAsync().ConfigureAwait(false))
        {
            foreach (var reloadable in _reloadables)
            {
                // One that fails is asked again next time; the others are asked all the same.
                _faults.Run("reload", static reloadable => reloadable.ReloadIfChanged(), reloadable);
            }
        }
    }
}
