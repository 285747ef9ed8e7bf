using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.ProxyEntry.Reload;

/// <summary>Every two seconds lets the reloadable parts look at their files, on the thread pool.</summary>
internal sealed class ReloadLoop : IAsyncDisposable
{
    /// <summary>The time between two looks. A revoked token stops working after this time.</summary>
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

    /// <summary>Starts the loop; without reloadable parts there is no loop.</summary>
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
                // If one fails, it is asked again next time, and the others are still asked now.
                _faults.Run("reload", static reloadable => reloadable.ReloadIfChanged(), reloadable);
            }
        }
    }
}
