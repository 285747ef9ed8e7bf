using System.IO.Pipelines;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.ClusterView;

/// <summary>
/// Serves the hub of this node to other nodes: the messages of <c>/live</c>, on a stream of a node link. The peer has a certificate of the
/// cluster, so it needs no token. It has one queue, as every subscriber. Thread-safe.
/// </summary>
internal sealed class LinkFeeds(LivePlane plane) : INodeFeeds
{
    /// <summary>Feeds at once: one for each other node, and some that have just been cut.</summary>
    public const int Most = 256;

    private static readonly byte[] _answer = NodeFeed.Answer();

    private int _count;

    /// <inheritdoc/>
    public async ValueTask ForwardAsync(VisitorExchange exchange, ForwardedRequest request)
    {
        // The caller is a thread of an event loop.
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        try
        {
            if (exchange.IsUpgrade && TryStart(exchange))
            {
                var bytes = await exchange.UpgradeAsync().ConfigureAwait(false);
                await ServeAsync(bytes.Input, bytes.SendAsync).ConfigureAwait(false);
                await bytes.EndSendAsync().ConfigureAwait(false);
                return;
            }
        }
        catch (IOException)
        {
            // The other node has gone.
        }

        exchange.Abort();
    }

    /// <summary>Serves a subscriber, until either side ends it.</summary>
    /// <param name="input">What it sends.</param>
    /// <param name="send">Sends to it; false: it is gone.</param>
    /// <returns>False: no further one is served.</returns>
    public async Task<bool> ServeAsync(PipeReader input, Func<ReadOnlyMemory<byte>, ValueTask<bool>> send)
    {
        try
        {
            if (Interlocked.Increment(ref _count) > Most || plane.Hub is not { IsClosing: false } hub)
            {
                return false;
            }

            var sink = new PipeSink(input.CancelPendingRead);
            using var client = hub.Add(sink, isNode: true);
            var sending = SendAsync(sink, client, send);
            await SubscriberMessages.HandleAllAsync(input.AsStream(leaveOpen: true), hub, client).ConfigureAwait(false);
            await sending.ConfigureAwait(false);
            return true;
        }
        finally
        {
            Interlocked.Decrement(ref _count);
        }
    }

    private static bool TryStart(VisitorExchange exchange)
    {
        _ = HeaderBlock.TryRead(_answer, out var head);
        return exchange.TryStartResponse(head, declaresLength: false);
    }

    private static async Task SendAsync(PipeSink sink, HubClient client, Func<ReadOnlyMemory<byte>, ValueTask<bool>> send)
    {
        try
        {
            while (true)
            {
                var read = await sink.Reader.ReadAsync().ConfigureAwait(false);
                foreach (var part in read.Buffer)
                {
                    if (!await send(part).ConfigureAwait(false))
                    {
                        return;
                    }
                }

                var count = read.Buffer.Length;
                sink.Reader.AdvanceTo(read.Buffer.End);
                sink.Taken(count);
                if (read.IsCompleted)
                {
                    return;
                }
            }
        }
        catch (Exception exception) when (exception is IOException or InvalidOperationException)
        {
            // The other node has gone.
        }
        finally
        {
            client.Abort();
            await sink.Reader.CompleteAsync().ConfigureAwait(false);
        }
    }
}
