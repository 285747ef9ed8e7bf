using System.Globalization;
using System.Text.Json;
using Tunnel2.Inspection.Exporting;
using Tunnel2.Inspection.Serving;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Inspection;

namespace Tunnel2.ProxyEntry.ClusterCalls;

/// <summary>
/// The exchanges of a session that several nodes inspect: as a list by time, whose pages and versions name a number for each node, and as a
/// file. Thread-safe.
/// </summary>
internal sealed class ClusterExchanges(ClusterNodes nodes, ClusterFile file)
{
    /// <summary>As the inspector of one node has it.</summary>
    private const int UsuallyListed = 100;

    /// <summary>In place of a number: the node has not answered.</summary>
    private const string Lost = "x";

    /// <summary>The list.</summary>
    public async Task ListAsync(ClusterCall call)
    {
        var all = await nodes.ListAsync(call.Session, call.Left).ConfigureAwait(false);
        var replies = call.Parameter("since") is { } since && call.Number("wait") is > 0 and var wait
            ? await WaitAsync(call, all, since, TimeSpan.FromSeconds(Math.Min(wait, RequestRules.LongestWait))).ConfigureAwait(false)
            : await AskAsync(call, all).ConfigureAwait(false);
        await (replies.Any(static reply => reply.IsDone)
            ? call.WriteAsync(StatusCodes.Status200OK, InspectorResponse.Json, Merge(call, replies))
            : call.FailAsync(replies)).ConfigureAwait(false);
    }

    /// <summary>One file of the exchanges of several nodes.</summary>
    public Task WriteFileAsync(ClusterCall call, IReadOnlyList<string> inspecting, IReadOnlyList<string> lost) =>
        file.WriteAsync(call, inspecting, lost);

    /// <summary>The versions of several nodes as one text.</summary>
    public static string VersionOf(IReadOnlyList<NodeReply> replies) => string.Join(
        ExchangeId.Comma,
        replies.Select(static reply => reply.IsLost ? $"{reply.Node}{ExchangeId.Separator}{Lost}" : OwnVersion(reply)).OfType<string>());

    private Task<NodeReply[]> AskAsync(ClusterCall call, IEnumerable<NodeLocation> all) =>
        Task.WhenAll(all.Select(node => nodes.AskAsync(
            call.Http, node, call.Method, call.Target(("since", null), ("wait", null)), call.Here, TimeSpan.Zero, call.Left)));

    /// <summary>Waits until one node has something new, and then asks the others what they have.</summary>
    private async Task<NodeReply[]> WaitAsync(ClusterCall call, IReadOnlyList<NodeLocation> all, string since, TimeSpan wait)
    {
        var known = since.Split(ExchangeId.Comma).ToHashSet(StringComparer.Ordinal);
        using var enough = CancellationTokenSource.CreateLinkedTokenSource(call.Left);
        var running = all.ToDictionary(
            node => nodes.AskAsync(call.Http, node, call.Method, call.Target(), call.Here, wait, enough.Token), static node => node);
        var replies = new Dictionary<string, NodeReply>(StringComparer.Ordinal);
        var isChanged = false;
        while (running.Count > 0 && !isChanged)
        {
            var done = await Task.WhenAny(running.Keys).ConfigureAwait(false);
            running.Remove(done);
            var reply = await done.ConfigureAwait(false);
            replies[reply.Node] = reply;
            isChanged = IsNews(reply, known);
        }

        if (running.Count > 0)
        {
            // What these have is wanted now; their waits are given up.
            var others = running.Values.ToList();
            await enough.CancelAsync().ConfigureAwait(false);
            await ((Task)Task.WhenAll(running.Keys)).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            foreach (var reply in await AskAsync(call, others).ConfigureAwait(false))
            {
                replies[reply.Node] = reply;
            }
        }

        return [.. all.Select(node => replies[node.NodeId])];
    }

    private static bool IsNews(NodeReply reply, HashSet<string> known)
    {
        var version = reply.IsLost ? $"{reply.Node}{ExchangeId.Separator}{Lost}" : OwnVersion(reply);
        return version is null
            ? known.Any(one => one.StartsWith(reply.Node + ExchangeId.Separator, StringComparison.Ordinal))
            : !known.Contains(version);
    }

    /// <summary>A node's own version; null: it does not inspect the session.</summary>
    private static string? OwnVersion(NodeReply reply) =>
        reply.Document() is { } document && ClusterLists.Text(document, "version") is { Length: > 0 } version ? version : null;

    private static ReadOnlyMemory<byte> Merge(ClusterCall call, IReadOnlyList<NodeReply> replies)
    {
        var limit = Math.Clamp(call.Number("limit") ?? UsuallyListed, 1, RequestRules.MostListed);
        var documents = ClusterLists.Documents(replies);
        var all = documents
            .SelectMany(static one => ClusterLists.Items(one.Document, "exchanges").Select(exchange => (one.Node, Exchange: exchange)))
            .OrderByDescending(static one => ClusterLists.Time(one.Exchange)).ToList();
        var taken = all.Take(limit).ToList();
        var hasMore = all.Count > limit
            || documents.Any(static one => one.Document.TryGetProperty("more", out var more) && more.ValueKind == JsonValueKind.True);
        return ClusterLists.Write(json =>
        {
            json.WriteString("build", InspectionEndpoints.Build);
            json.WriteString("version", VersionOf(replies));
            json.WriteString("until", documents.Max(static one => ClusterLists.Text(one.Document, "until")));
            foreach (var sum in (string[])["bytes", "limitBytes", "dropped", "skipped"])
            {
                json.WriteNumber(sum, documents.Sum(one => ClusterLists.Number(one.Document, sum)));
            }

            json.WriteBoolean("more", hasMore);
            if (hasMore)
            {
                json.WriteString("next", Next(call, documents.Select(static one => one.Node), all, taken));
            }

            json.WriteStartArray("exchanges");
            foreach (var (_, exchange) in taken)
            {
                exchange.WriteTo(json);
            }

            json.WriteEndArray();
            ClusterLists.WriteNodes(json, replies);
        });
    }

    /// <summary>Where the next page begins: for each node the id before which it goes on.</summary>
    private static string Next(
        ClusterCall call, IEnumerable<string> inspecting, List<(string Node, JsonElement Exchange)> all,
        List<(string Node, JsonElement Exchange)> taken)
    {
        var parts = new List<string>();
        foreach (var node in inspecting)
        {
            var last = taken.FindLast(one => one.Node == node).Exchange;
            var first = all.Find(one => one.Node == node).Exchange;
            var number = last.ValueKind != JsonValueKind.Undefined ? NumberOf(last)
                : first.ValueKind != JsonValueKind.Undefined ? NumberOf(first) + 1
                : ExchangeId.Read(call.Parameter("before"), node) ?? 1;
            parts.Add(ExchangeId.Text(node, number));
        }

        return string.Join(ExchangeId.Comma, parts);
    }

    private static long NumberOf(JsonElement exchange) =>
        long.TryParse(
            ExchangeId.Split(ClusterLists.Text(exchange, "id")).Number, NumberStyles.None, CultureInfo.InvariantCulture, out var number)
            ? number : 0;
}
