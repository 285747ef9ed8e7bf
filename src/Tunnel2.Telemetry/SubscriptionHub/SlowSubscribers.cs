using System.Diagnostics.Metrics;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// Pauses the channels of subscribers that do not keep up, while memory or processors are short: at each reading those of the slower half,
/// the slowest first. When nothing is short, half of the paused subscribers continue with each reading, each with fresh snapshots. A
/// subscriber that keeps up is never paused. For the sender's thread alone, except <see cref="Count"/>.
/// </summary>
internal sealed class SlowSubscribers
{
    /// <summary>A subscriber is slow while at least one in this many of its queue's places is taken.</summary>
    private const int SlowShare = 8;

    private readonly Hub _hub;
    private readonly List<HubClient> _paused = [];
    private int _count;

    /// <param name="hub">The hub.</param>
    /// <param name="meter">The meter of the hub.</param>
    internal SlowSubscribers(Hub hub, Meter meter)
    {
        _hub = hub;
        meter.CreateObservableUpDownCounter(
            "tunnel2.hub.paused", () => Count, "{connection}", "Subscribers whose channels are paused, because they are slow.");
    }

    /// <summary>How many are paused.</summary>
    internal int Count => Volatile.Read(ref _count);

    /// <summary>After a reading: pauses or resumes some.</summary>
    /// <param name="isShort">Whether memory or processors are short.</param>
    internal void Follow(bool isShort)
    {
        _paused.RemoveAll(static client => client.IsClosing);
        if (isShort)
        {
            PauseSlowest();
        }
        else if (_paused.Count > 0)
        {
            ResumeFastest();
        }

        Volatile.Write(ref _count, _paused.Count);
    }

    private void PauseSlowest()
    {
        var slow = new List<(long Backlog, HubClient Client)>();
        foreach (HubClient client in _hub.Clients())
        {
            long backlog = client.Backlog;
            if (backlog * SlowShare >= _hub.Limits.QueueFrames && !_paused.Contains(client))
            {
                slow.Add((backlog, client));
            }
        }

        slow.Sort(static (one, other) => other.Backlog.CompareTo(one.Backlog));
        foreach ((_, HubClient client) in slow[..((slow.Count + 1) / 2)])
        {
            if (client.TryPause())
            {
                _paused.Add(client);
            }
        }
    }

    private void ResumeFastest()
    {
        (long Backlog, HubClient Client)[] all = [.. _paused.Select(static client => (client.Backlog, client))];
        Array.Sort(all, static (one, other) => one.Backlog.CompareTo(other.Backlog));
        foreach ((_, HubClient client) in all.AsSpan(0, (all.Length + 1) / 2))
        {
            _paused.Remove(client);
            _ = Task.Run(() => ResumeAsync(client));
        }
    }

    /// <summary>Contains its faults: no task awaits it.</summary>
    private async Task ResumeAsync(HubClient client)
    {
        try
        {
            await _hub.ResumeAsync(client).ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            _hub.OnFault(exception);
            client.Abort();
        }
    }
}
