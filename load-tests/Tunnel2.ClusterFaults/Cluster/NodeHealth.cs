using System.Collections.Concurrent;
using System.Net;

namespace Tunnel2.ClusterFaults.Cluster;

/// <summary>
/// Asks every node for <c>/health/ready</c> as a balancer does: five times a second, with a second of patience, and one answer decides.
/// Thread-safe.
/// </summary>
internal sealed class NodeHealth : IAsyncDisposable
{
    private static readonly TimeSpan _pace = TimeSpan.FromMilliseconds(200);
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(1);

    private readonly IReadOnlyList<FaultNode> _nodes;
    private readonly ConcurrentDictionary<string, string> _answers = new();
    private readonly HttpClient _client = new(new SocketsHttpHandler { PooledConnectionLifetime = TimeSpan.Zero, UseProxy = false })
    {
        Timeout = _patience,
    };

    private readonly CancellationTokenSource _stop = new();
    private readonly Task _running;
    private int _turn;

    public NodeHealth(IReadOnlyList<FaultNode> nodes)
    {
        _nodes = nodes;
        _running = Task.WhenAll(nodes.Select(WatchAsync));
    }

    /// <summary>What a node answered last: <c>ready</c>, another text, or why there was none.</summary>
    public string AnswerOf(FaultNode node) => _answers.GetValueOrDefault(node.Id, "not asked yet");

    /// <summary>Whether a node is ready.</summary>
    public bool IsReady(FaultNode node) => AnswerOf(node) == "ready";

    /// <summary>The nodes that are ready, each time beginning with another one; all where none is.</summary>
    public IReadOnlyList<FaultNode> InTurn()
    {
        var ready = _nodes.Where(IsReady).ToArray();
        ready = ready.Length > 0 ? ready : [.. _nodes];
        var first = (int)((uint)Interlocked.Increment(ref _turn) % ready.Length);
        return [.. ready[first..], .. ready[..first]];
    }

    /// <summary>Waits until all have answered <c>ready</c>.</summary>
    /// <exception cref="FaultSuiteException">They have not within the limit.</exception>
    public async Task AllReadyAsync(TimeSpan limit)
    {
        using var end = new CancellationTokenSource(limit);
        while (!_nodes.All(IsReady))
        {
            if (end.IsCancellationRequested)
            {
                throw new FaultSuiteException(
                    "not ready: " + string.Join("; ", _nodes.Select(node => $"{node.Id} says '{AnswerOf(node)}'")));
            }

            await Task.Delay(_pace, CancellationToken.None);
        }
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _running;
        _client.Dispose();
    }

    private async Task WatchAsync(FaultNode node)
    {
        while (!_stop.IsCancellationRequested)
        {
            _answers[node.Id] = await AskAsync(node);
            await Task.Delay(_pace, _stop.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    private async Task<string> AskAsync(FaultNode node)
    {
        try
        {
            using var answer = await _client.GetAsync(new Uri($"http://{node.Admin}/health/ready"), _stop.Token);
            return answer.StatusCode == HttpStatusCode.OK
                ? "ready"
                : (await answer.Content.ReadAsStringAsync(_stop.Token)).Trim();
        }
        catch (Exception exception) when (exception is HttpRequestException or OperationCanceledException)
        {
            return exception is OperationCanceledException ? "no answer in time" : "no connection";
        }
    }
}
