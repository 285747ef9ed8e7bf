namespace Tunnel2.TestUtilities;

/// <summary>The changeable settings of one direction of all connections of a proxy, and the signal that they changed.</summary>
internal sealed class RelayLink
{
    private readonly Lock _lock = new();
    private LinkSettings _settings = new();
    private TaskCompletionSource _changed = NewSignal();

    public LinkSettings Settings
    {
        get
        {
            lock (_lock)
            {
                return _settings;
            }
        }
    }

    public void Change(Func<LinkSettings, LinkSettings> change)
    {
        TaskCompletionSource changed;
        lock (_lock)
        {
            _settings = change(_settings);
            changed = _changed;
            _changed = NewSignal();
        }

        changed.SetResult();
    }

    /// <summary>Returns the settings as soon as they are not paused.</summary>
    public async ValueTask<LinkSettings> WaitWhilePausedAsync(CancellationToken cancellationToken)
    {
        while (true)
        {
            Task changed;
            lock (_lock)
            {
                if (!_settings.IsPaused)
                {
                    return _settings;
                }

                changed = _changed.Task;
            }

            await changed.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    private static TaskCompletionSource NewSignal() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}
