using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Api;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.ClusterCalls;

/// <summary>
/// Serves calls of other nodes: those operations of the API that are about sessions and what is kept of their requests, and no others. The
/// node that was asked has allowed the call, and has a certificate of the cluster, so it needs no token here. Thread-safe.
/// </summary>
internal sealed class LinkCalls(ApiEndpoints api, NodeLinkMetrics metrics, ContainedFaults faults) : INodeCalls, IDisposable
{
    /// <summary>Calls of one node at once: twice of what a node sends, because one that was cut may still run.</summary>
    public const int MostOfNode = 2 * ClusterNodes.MostCalls;

    private readonly Lock _gate = new();
    private readonly Dictionary<string, int> _running = new(StringComparer.Ordinal);
    private readonly CancellationTokenSource _leaving = new();

    /// <summary>Calls that wait for something end; later ones answer at once. The node stops.</summary>
    public void Leave() => _ = _leaving.CancelAsync();

    /// <inheritdoc/>
    public async ValueTask ForwardAsync(VisitorExchange exchange, ForwardedRequest request)
    {
        // The caller is a thread of an event loop.
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        var peer = ((NodeExchange)exchange).Peer;
        var mayRun = TryEnter(peer);
        metrics.Called(isOut: false);
        if (!mayRun)
        {
            metrics.CallFailed(isOut: false, "busy");
        }

        try
        {
            if (await TryServeAsync(exchange, peer, mayRun).ConfigureAwait(false))
            {
                return;
            }
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException)
        {
            // The other node has gone or given up, or this one stops.
            metrics.CallFailed(isOut: false, "cut");
        }
        catch (Exception exception)
        {
            metrics.CallFailed(isOut: false, "fault");
            faults.Add("call of a node", exception);
        }
        finally
        {
            if (mayRun)
            {
                Leave(peer);
            }
        }

        exchange.Abort();
    }

    /// <inheritdoc/>
    public void Dispose() => _leaving.Dispose();

    private async Task<bool> TryServeAsync(VisitorExchange exchange, string peer, bool mayRun)
    {
        using var left = CancellationTokenSource.CreateLinkedTokenSource(exchange.VisitorLeft, _leaving.Token);
        await using var output = new LinkCallBody(exchange);
        var caller = new NodeCaller(peer, PlainText.Clean(exchange.AwaitedOwner?.Value ?? ""));
        if (NodeCallContext.TryMake(exchange.Method, exchange.Target, caller, exchange.RemoteAddress, output, left.Token) is not { } http)
        {
            return false;
        }

        output.Response = http.Response;
        http.Request.ContentLength = exchange.DeclaredLength ?? 0;
        http.Request.ContentType = exchange.FieldValues("content-type", withLookalikes: false) is [var type] ? type : null;
        http.Request.Body = exchange.HasBody ? exchange.RequestBody.AsStream(leaveOpen: true) : Stream.Null;
        await (mayRun
            ? api.HandleHereAsync(http)
            : AdminProblem.WriteAsync(http, StatusCodes.Status503ServiceUnavailable, "busy", "As many calls run as may; try again."))
            .ConfigureAwait(false);
        await output.EndAsync().ConfigureAwait(false);
        return true;
    }

    private bool TryEnter(string peer)
    {
        lock (_gate)
        {
            var count = _running.GetValueOrDefault(peer);
            if (count >= MostOfNode)
            {
                return false;
            }

            _running[peer] = count + 1;
            return true;
        }
    }

    private void Leave(string peer)
    {
        lock (_gate)
        {
            if (--_running[peer] == 0)
            {
                _running.Remove(peer);
            }
        }
    }
}
