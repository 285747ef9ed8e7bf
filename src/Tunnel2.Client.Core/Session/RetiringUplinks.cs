namespace Tunnel2.Client.Core.Session;

/// <summary>
/// Uplinks that their server has said goodbye on: a replacement is being dialled, and they finish what they carry until the server ends
/// them. Thread-safe.
/// </summary>
internal sealed class RetiringUplinks
{
    private readonly Lock _gate = new();
    private readonly List<Task> _running = [];

    /// <summary>Takes over the rest of an uplink's life.</summary>
    /// <param name="finish">Ends with the uplink, after everything of it was given back. Its fault is contained.</param>
    public void Add(Task finish)
    {
        lock (_gate)
        {
            _running.RemoveAll(static task => task.IsCompleted);
            _running.Add(finish);
        }
    }

    /// <summary>Completes when all have ended.</summary>
    public async Task WhenAllEnded()
    {
        Task[] running;
        lock (_gate)
        {
            running = [.. _running];
        }

        await Task.WhenAll(running).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }
}
