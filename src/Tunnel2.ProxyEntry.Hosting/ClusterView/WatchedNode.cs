using System.Net.WebSockets;
using System.Text;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Live;

namespace Tunnel2.ProxyEntry.ClusterView;

/// <summary>
/// Subscribes at one node, from the first viewer to the last, and connects again where that is lost. Everything that it finds goes to its
/// view with the view's lock held.
/// </summary>
internal sealed class WatchedNode : IDisposable
{
    /// <summary>What the view itself needs of each node.</summary>
    private static readonly string[] _always = ["node.info", "node.load", CellMessage.Channel];

    private static readonly TimeSpan _pause = TimeSpan.FromSeconds(1);
    private static readonly NodeFeedProblem _moved = new("it is at another address now", IsOlder: false);
    private static readonly TimeSpan _olderPause = TimeSpan.FromSeconds(30);

    /// <summary>Changes of subscriptions at once: the hub accepts ten messages a second, after a hundred.</summary>
    private const int MostChanges = 2;

    private readonly Lock _gate;
    private readonly FeedOpener _open;
    private readonly TimeProvider _time;
    private readonly ContainedFaults _faults;
    private readonly ClusterStatistics _statistics;
    private readonly MirroredChannels _mirror;
    private readonly CancellationTokenSource _stop = new();
    private readonly SemaphoreSlim _changed = new(0, 1);
    private readonly HashSet<string> _sent = new(StringComparer.Ordinal);
    private IReadOnlySet<string> _wanted = new HashSet<string>();
    private NodeLocation _location;
    private CancellationTokenSource? _feedEnd;
    private bool _isConnected;

    /// <param name="location">The node.</param>
    /// <param name="view">What is known of it.</param>
    /// <param name="mirror">Its channels here.</param>
    /// <param name="statistics">The sums.</param>
    /// <param name="open">Opens its feed.</param>
    /// <param name="time">The clock.</param>
    /// <param name="faults">Counts faults of our own.</param>
    /// <param name="gate">The lock of all that.</param>
    public WatchedNode(
        NodeLocation location, NodeView view, MirroredChannels mirror, ClusterStatistics statistics, FeedOpener open, TimeProvider time,
        ContainedFaults faults, Lock gate)
    {
        (_location, View, _mirror, _statistics, _open, _time) = (location, view, mirror, statistics, open, time);
        (_faults, _gate) = (faults, gate);
    }

    /// <summary>What is known of it.</summary>
    public NodeView View { get; }

    /// <summary>Ends when it was stopped.</summary>
    public Task Running { get; private set; } = Task.CompletedTask;

    /// <summary>Begins.</summary>
    public void Start() => Running = RunAsync();

    /// <summary>The node is, or is again, at an address. A process that had its name before is followed no longer.</summary>
    public void MoveUnsynchronized(NodeLocation location)
    {
        if (location.LinkAddress != _location.LinkAddress)
        {
            _ = _feedEnd?.CancelAsync();
        }

        _location = location;
    }

    /// <summary>Sets what viewers want of it.</summary>
    public void WantUnsynchronized(IReadOnlySet<string> wanted)
    {
        if (!_wanted.SetEquals(wanted))
        {
            _wanted = wanted;
            _mirror.Keep(wanted);
        }

        if (_isConnected && _changed.CurrentCount == 0 && !_sent.SetEquals(_always.Concat(_wanted)))
        {
            _changed.Release();
        }
    }

    /// <summary>No viewer looks any more, or the node was forgotten.</summary>
    public void StopUnsynchronized()
    {
        _ = _stop.CancelAsync();
        _mirror.Keep(new HashSet<string>());
    }

    public void Dispose()
    {
        _stop.Dispose();
        _changed.Dispose();
    }

    private async Task RunAsync()
    {
        // The caller holds the lock.
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        while (!_stop.IsCancellationRequested)
        {
            var problem = await FollowOnceAsync().ConfigureAwait(false);
            lock (_gate)
            {
                if (!_stop.IsCancellationRequested)
                {
                    View.Fail(problem.Text, problem.IsOlder);
                }
            }

            await Task.Delay(problem.IsOlder ? _olderPause : _pause, _time, _stop.Token)
                .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    private async Task<NodeFeedProblem> FollowOnceAsync()
    {
        try
        {
            NodeLocation location;
            lock (_gate)
            {
                location = _location;
            }

            var (feed, problem) = await _open(location, _stop.Token).ConfigureAwait(false);
            if (feed is null)
            {
                return problem!;
            }

            try
            {
                return await FollowAsync(feed, location).ConfigureAwait(false);
            }
            finally
            {
                await ReleaseAsync(feed).ConfigureAwait(false);
            }
        }
        catch (OperationCanceledException)
        {
            return new NodeFeedProblem("it does not answer", IsOlder: false);
        }
        catch (Exception exception) when (exception is IOException or WebSocketException or InvalidDataException or ObjectDisposedException
            or InvalidOperationException)
        {
            return new NodeFeedProblem(
                exception is InvalidDataException ? exception.Message : "its feed was cut", IsOlder: false);
        }
        catch (Exception exception)
        {
            _faults.Add("view of a node", exception);
            return new NodeFeedProblem("a fault of this node", IsOlder: false);
        }
    }

    private async Task<NodeFeedProblem> FollowAsync(Stream feed, NodeLocation location)
    {
        using var socket = WebSocket.CreateFromStream(
            feed, new WebSocketCreationOptions { IsServer = false, KeepAliveInterval = TimeSpan.Zero });
        using var end = CancellationTokenSource.CreateLinkedTokenSource(_stop.Token);
        lock (_gate)
        {
            if (location.LinkAddress != _location.LinkAddress)
            {
                return _moved;
            }

            _sent.Clear();
            _isConnected = true;
            _feedEnd = end;
        }

        var sending = SendAsync(socket, end.Token);
        try
        {
            var messages = new FeedMessages(socket);
            while (await messages.NextAsync(end.Token).ConfigureAwait(false) is { } message)
            {
                lock (_gate)
                {
                    if (_stop.IsCancellationRequested)
                    {
                        break;
                    }

                    View.Hear();
                    FeedMessages.Read(
                        message, TakeUnsynchronized, _mirror.Remove,
                        skipped => View.Skipped += Math.Clamp(skipped, 0, int.MaxValue));
                }
            }

            return new NodeFeedProblem(
                socket.CloseStatus == WebSocketCloseStatus.EndpointUnavailable ? "it stops" : "it has ended its feed", IsOlder: false);
        }
        catch (OperationCanceledException) when (!_stop.IsCancellationRequested)
        {
            return _moved;
        }
        finally
        {
            lock (_gate)
            {
                _isConnected = false;
                _feedEnd = null;
            }

            await end.CancelAsync().ConfigureAwait(false);
            socket.Abort();
            await sending.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    private void TakeUnsynchronized(FeedValue value)
    {
        switch (value.Channel)
        {
            case "node.info":
                View.TakeInfo(value.Data);
                break;
            case "node.load" when !value.IsPast:
                View.TakeLoad(value.Data);
                break;
            case CellMessage.Channel:
                if (!value.IsPast && CellMessage.Read(value.Data) is { } cells)
                {
                    View.Take(cells);
                    _statistics.Take(View.Name, cells);
                }

                break;
        }

        if (value is { IsPast: true, Channel: "node.stats" or "node.load" or "node.sessions" })
        {
            // Of any age: to the viewers here it would be news.
            return;
        }

        if (!_mirror.Publish(_wanted, value.Channel, value.Key, value.Bytes()))
        {
            View.Skipped++;
        }
    }

    /// <summary>Keeps the subscriptions there as they are wanted here.</summary>
    private async Task SendAsync(WebSocket socket, CancellationToken end)
    {
        for (var most = int.MaxValue; ; most = MostChanges)
        {
            List<string> messages;
            lock (_gate)
            {
                messages = [.. ChangesUnsynchronized().Take(most)];
            }

            foreach (var message in messages)
            {
                await socket.SendAsync(Encoding.UTF8.GetBytes(message), WebSocketMessageType.Text, true, end).ConfigureAwait(false);
            }

            await _changed.WaitAsync(end).ConfigureAwait(false);
        }
    }

    private IEnumerable<string> ChangesUnsynchronized()
    {
        foreach (var pattern in _always.Concat(_wanted))
        {
            if (_sent.Add(pattern))
            {
                yield return $$"""{"op":"subscribe","channel":"{{pattern}}"}""";
            }
        }

        foreach (var pattern in _sent.Where(pattern => !_wanted.Contains(pattern) && !_always.Contains(pattern)).ToList())
        {
            _sent.Remove(pattern);
            yield return $$"""{"op":"unsubscribe","channel":"{{pattern}}"}""";
        }
    }

    private static async ValueTask ReleaseAsync(Stream feed)
    {
        if (feed is NodeByteStream link)
        {
            link.Release();
            return;
        }

        await feed.DisposeAsync().ConfigureAwait(false);
    }
}
