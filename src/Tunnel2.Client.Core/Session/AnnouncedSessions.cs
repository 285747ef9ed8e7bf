using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Reconnect;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// Holds sessions with announced nodes beside those with the servers that the user gave, so that there are as many as wanted. A place
/// has one session after the other, each with another node where there is one. One place more than sessions are wanted: a session takes the
/// place of another one while that one still runs.
/// </summary>
internal sealed class AnnouncedSessions(
    ServerGroup group,
    Func<AgentOptions, ServerReports, CancellationToken, Task<(ConnectionEnd End, Task Retired)>> hold,
    TimeProvider timeProvider)
{
    /// <summary>How long to look whether the whole agent was replaced by another process, before the name is asked for again.</summary>
    public static readonly TimeSpan Respect = TimeSpan.FromSeconds(5);

    /// <summary>The shortest wait of a place that finds no node, even if the nodes ask for less.</summary>
    private static readonly TimeSpan _shortest = TimeSpan.FromSeconds(0.5);

    /// <summary>Runs the places to their end, with what their sessions have to finish.</summary>
    /// <param name="places">How many there are.</param>
    /// <param name="stop">Ends them.</param>
    public Task RunAsync(int places, CancellationToken stop) =>
        Task.WhenAll(Enumerable.Range(0, places).Select(_ => RunOneAsync(stop)));

    private async Task RunOneAsync(CancellationToken stop)
    {
        var backoff = new FullJitterBackoff(timeProvider, Random.Shared);
        List<Task> retired = [];
        while (!stop.IsCancellationRequested)
        {
            var changed = group.WhenChanged;
            if (group.TryEnter() is not { } entered)
            {
                // Also without a change: one that was left alone may be tried again.
                var wait = group.NextIn() is not { } next ? Timeout.InfiniteTimeSpan : next > _shortest ? next : _shortest;
                await changed.WaitAsync(wait, timeProvider, stop).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
                continue;
            }

            var (end, finishing) = await HoldAsync(entered.Options, entered.Reports, stop).ConfigureAwait(false);
            retired.RemoveAll(static task => task.IsCompleted);
            retired.Add(finishing);
            group.Leave(entered.Reports, end);
            if (stop.IsCancellationRequested)
            {
                break;
            }

            // How long one node wants to be left alone keeps the agent from no other one.
            var pause = backoff.NextDelay(end.UpTime, announced: end.Reason == ConnectionEndReason.GoingAway);
            await Task.Delay(
                end.Reason == ConnectionEndReason.Superseded && pause < Respect ? Respect : pause, timeProvider, stop)
                .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            if (end.Reason == ConnectionEndReason.Superseded && !stop.IsCancellationRequested)
            {
                group.EndIfReplaced();
            }
        }

        await Task.WhenAll(retired).ConfigureAwait(false);
    }

    private async Task<(ConnectionEnd End, Task Finishing)> HoldAsync(AgentOptions options, ServerReports reports, CancellationToken stop)
    {
        var started = timeProvider.GetTimestamp();
        var both = CancellationTokenSource.CreateLinkedTokenSource(stop, reports.Leaving);
        try
        {
            var (end, retired) = await hold(options, reports, both.Token).ConfigureAwait(false);
            return (end, FinishAsync(retired, both));
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested || reports.Leaving.IsCancellationRequested)
        {
            return (ConnectionEnd.Stopped(TimeSpan.Zero), FinishAsync(Task.CompletedTask, both));
        }
        catch (Exception exception)
        {
            // As for the other sessions: a fault in one ends no agent.
            return (
                ConnectionEnd.Lost($"Internal error: {exception.GetType().Name}", timeProvider.GetElapsedTime(started)),
                FinishAsync(Task.CompletedTask, both));
        }
    }

    /// <summary>What the session still carries has to hear that the agent stops.</summary>
    private static async Task FinishAsync(Task retired, CancellationTokenSource both)
    {
        using (both)
        {
            await retired.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }
}
