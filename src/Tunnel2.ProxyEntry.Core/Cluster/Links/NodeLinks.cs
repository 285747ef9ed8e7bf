using System.Collections.Concurrent;
using System.IO.Pipelines;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>The links to all other nodes that requests have needed. Thread-safe.</summary>
internal sealed class NodeLinks : IDisposable
{
    private static readonly TimeSpan _period = TimeSpan.FromSeconds(5);

    /// <summary>How long a link without connections is remembered that no request needs: its node may be gone for good.</summary>
    private static readonly TimeSpan _memory = TimeSpan.FromMinutes(10);

    private readonly ConcurrentDictionary<(string NodeId, string Address), NodeLink> _links = new();
    private readonly NodeDialer _dialer;
    private readonly UplinkHeartbeat _heartbeat;
    private readonly NodeLinkMetrics _metrics;
    private readonly TimeSpan _idle;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;
    private readonly ITimer _timer;
    private CancellationTokenSource _leaving = new();
    private volatile bool _isStopped;

    public NodeLinks(
        ProxyEntrySettings settings, NodeDialer dialer, NodeHeartbeat heartbeat, NodeLinkMetrics metrics, TimeProvider timeProvider,
        ContainedFaults faults, ILogger<NodeLinks> logger)
    {
        _dialer = dialer;
        _heartbeat = heartbeat.Timer;
        _metrics = metrics;
        _idle = settings.NodeLinks.Idle;
        _timeProvider = timeProvider;
        _logger = logger;
        _timer = timeProvider.CreateTimer(
            _ => faults.Run("links to nodes", static self => self.CloseIdle(), this), null, _period, _period);
    }

    /// <summary>How many nodes are remembered.</summary>
    public int Known => _links.Count;

    /// <summary>Cancelled by the next <see cref="MarkLeaving"/>.</summary>
    public CancellationToken Leaving => Volatile.Read(ref _leaving).Token;

    /// <summary>WebSockets that this node passes to others end in order; requests continue. Returns at once.</summary>
    public void MarkLeaving() => _ = Interlocked.Exchange(ref _leaving, new CancellationTokenSource()).CancelAsync();

    /// <summary>Opens a stream to a node, if there is a connection to it.</summary>
    public TunnelStream? TryOpenStream(in NodeChoice choice, UplinkStreams? except, PipeScheduler? home, bool isSettled) =>
        _links.TryGetValue((choice.Node.NodeId, choice.Node.LinkAddress), out var link)
            && link.TryOpenStream(except, home, isSettled, choice.Crossing) is { } stream
            ? Count(stream)
            : null;

    /// <summary>How many requests of this node are at a node, and whether a link to it is open.</summary>
    public (int Streams, bool IsOpen) Look(in NodeLocation location) =>
        _links.TryGetValue((location.NodeId, location.LinkAddress), out var link) ? link.Look() : (0, false);

    /// <summary>Begins to open a link to a node for later requests, where none is open. Does not wait.</summary>
    /// <returns>False: a link could not be opened a moment ago.</returns>
    public bool Prepare(in NodeLocation location) => Look(location).IsOpen || LinkTo(location).Prepare();

    /// <summary>Opens a stream to a node, and a connection where there is none.</summary>
    /// <returns>The stream, or why there is none.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public async ValueTask<(TunnelStream? Stream, string Problem)> OpenStreamAsync(
        NodeChoice choice, UplinkStreams? except, PipeScheduler? home, bool isSettled, CancellationToken cancellationToken)
    {
        var (stream, problem) = await LinkTo(choice.Node).OpenStreamAsync(
            except, home, isSettled, choice.Crossing, cancellationToken).ConfigureAwait(false);
        return (stream is null ? null : Count(stream), problem);
    }

    /// <summary>Opens a feed of a node itself, and a connection where there is none. It counts as no request.</summary>
    /// <param name="location">The node.</param>
    /// <param name="patience">How long its answer may take.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <returns>The feed's bytes, or why there are none.</returns>
    /// <exception cref="OperationCanceledException">The token was cancelled, or no answer has come in time.</exception>
    public async Task<(NodeByteStream? Feed, NodeFeedProblem? Problem)> OpenFeedAsync(
        NodeLocation location, TimeSpan patience, CancellationToken cancellationToken)
    {
        using var late = new CancellationTokenSource(patience, _timeProvider);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(late.Token, cancellationToken);
        var (stream, problem) = await LinkTo(location).OpenStreamAsync(
            null, null, isSettled: true, null, either.Token).ConfigureAwait(false);
        if (stream is null)
        {
            return (null, new NodeFeedProblem(problem, IsOlder: false));
        }

        var feed = new NodeByteStream(stream);
        NodeFeedProblem? refusal;

        // The cut completes the wait for the answer.
        await using (either.Token.UnsafeRegister(static state => ((NodeByteStream)state!).Dispose(), feed).ConfigureAwait(false))
        {
            refusal = NodeFeed.TryAsk(stream)
                ? await NodeFeed.ReadAnswerAsync(stream).ConfigureAwait(false)
                : new NodeFeedProblem("the link was lost", IsOlder: false);
        }

        if (refusal is null && !either.IsCancellationRequested)
        {
            return (feed, null);
        }

        feed.Release();
        either.Token.ThrowIfCancellationRequested();
        return (null, refusal);
    }

    /// <summary>Calls the API of a node, over a connection that is opened where there is none. It counts as no request.</summary>
    /// <param name="location">The node.</param>
    /// <param name="request">The call.</param>
    /// <param name="patience">Cuts it when it is cancelled, also while the answer's body is read.</param>
    /// <returns>The answer, or why there is none.</returns>
    /// <exception cref="OperationCanceledException">The patience was at its end.</exception>
    public async Task<(NodeCallAnswer? Answer, NodeFeedProblem? Problem)> CallAsync(
        NodeLocation location, NodeCallRequest request, CancellationToken patience)
    {
        var (stream, problem) = await LinkTo(location).OpenStreamAsync(null, null, isSettled: true, null, patience).ConfigureAwait(false);
        if (stream is null)
        {
            return (null, new NodeFeedProblem(problem, IsOlder: false) { Reason = "unreachable" });
        }

        var body = new NodeByteStream(stream);

        // The cut completes the waits for room and for the answer.
        var cut = patience.UnsafeRegister(static state => ((NodeByteStream)state!).Dispose(), body);
        var isAsked = await NodeCall.TryAskAsync(stream, request).ConfigureAwait(false);
        if (!isAsked)
        {
            // So that no answer is awaited to what was not asked.
            body.Dispose();
        }

        var (status, fields, refusal) = await NodeCall.ReadAnswerAsync(stream).ConfigureAwait(false);
        if (refusal is null && !patience.IsCancellationRequested)
        {
            return (new NodeCallAnswer(status, fields, body, cut), null);
        }

        await cut.DisposeAsync().ConfigureAwait(false);
        body.Release();
        patience.ThrowIfCancellationRequested();
        return (null, isAsked ? refusal : new NodeFeedProblem("the link was lost", IsOlder: false));
    }

    /// <summary>Whether a node can be reached: a connection to it is open, or can be opened.</summary>
    public Task<bool> ReachesAsync(NodeLocation location) => LinkTo(location).ReachesAsync();

    /// <summary>Ends all links; no further one is opened, to no node.</summary>
    public void Stop()
    {
        _isStopped = true;
        foreach (var link in _links.Values)
        {
            link.Stop();
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _timer.Dispose();
        Stop();
    }

    private NodeLink LinkTo(in NodeLocation location)
    {
        var key = (location.NodeId, location.LinkAddress);
        NodeLink link;
        while (true)
        {
            link = _links.GetOrAdd(
                key,
                static (_, make) => new NodeLink(
                    make.Location, make.Self._dialer, make.Self._heartbeat, make.Self._metrics, make.Self._timeProvider,
                    make.Self._logger),
                (Location: location, Self: this));
            if (link.TryUse())
            {
                break;
            }

            // Who gave it up may not have removed it yet, and is not waited for.
            _links.TryRemove(KeyValuePair.Create(key, link));
        }

        if (_isStopped)
        {
            // It came after the others were ended.
            link.Stop();
        }

        return link;
    }

    private TunnelStream Count(TunnelStream stream)
    {
        _metrics.Sent();
        return stream;
    }

    private void CloseIdle()
    {
        foreach (var one in _links)
        {
            one.Value.CloseIdle(_idle);
            if (one.Value.TryForget(_memory))
            {
                _links.TryRemove(one);
            }
        }
    }
}
