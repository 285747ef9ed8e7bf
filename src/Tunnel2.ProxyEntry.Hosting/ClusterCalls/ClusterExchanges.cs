using System.Globalization;
using System.Runtime.InteropServices;
using System.Text.Json;
using Tunnel2.Inspection.Comparing;
using Tunnel2.Inspection.Exporting;
using Tunnel2.Inspection.Serving;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Inspection;

namespace Tunnel2.ProxyEntry.ClusterCalls;

/// <summary>
/// The exchanges of a session that several nodes inspect: as a list by time, whose pages and versions name a number for each node, and as a
/// file. Thread-safe.
/// </summary>
internal sealed class ClusterExchanges(ClusterNodes nodes, ClusterFile file, SharedInspections shared, TimeProvider time)
{
    /// <summary>As the inspector of one node has it.</summary>
    private const int UsuallyListed = 100;

    /// <summary>In place of a number: the node has not answered.</summary>
    private const string Lost = "x";

    /// <summary>In place of a node: the version of the inspection itself. No node has this name.</summary>
    private const string Shared = "*";

    /// <summary>The list.</summary>
    public async Task ListAsync(ClusterCall call)
    {
        var all = await nodes.ListAsync(call.Session, call.Left).ConfigureAwait(false);
        var replies = call.Parameter("since") is { } since && call.Number("wait") is > 0 and var wait
            ? await WaitAsync(call, all, since, TimeSpan.FromSeconds(Math.Min(wait, RequestRules.LongestWait))).ConfigureAwait(false)
            : await AskAsync(call, all).ConfigureAwait(false);
        await (replies.Any(static reply => reply.IsDone) || (IsInspected(call) && replies.All(IsWithout))
            ? call.WriteAsync(StatusCodes.Status200OK, InspectorResponse.Json, Merge(call, replies))
            : call.FailAsync(replies)).ConfigureAwait(false);
    }

    /// <summary>Whether a call's session is inspected, wherever it is, and also while it is nowhere.</summary>
    public bool IsInspected(ClusterCall call) => shared.UntilOf(call.Session!) is not null;

    /// <summary>The nodes of which a list lacks something: those that do not answer, and those whose exchanges are gone.</summary>
    public IReadOnlyDictionary<string, (string State, string Problem)> MissingOf(ClusterCall call, IReadOnlyList<NodeReply> replies)
    {
        var missing = GoneOf(call, replies);
        foreach (var reply in replies.Where(static reply => reply.IsLost))
        {
            missing[reply.Node] = (reply.State, reply.Problem);
        }

        return missing;
    }

    /// <summary>Compares exchanges of two nodes. What is secret stays at its node, unless it is asked for.</summary>
    public async Task CompareAsync(ClusterCall call, string firstNode, string first, string secondNode, string second)
    {
        var key = Convert.ToHexStringLower(ComparedExchange.NewKey());
        var replies = await Task.WhenAll(AskAsync(firstNode, first), AskAsync(secondNode, second)).ConfigureAwait(false);
        if (replies.FirstOrDefault(static reply => !reply.IsDone) is { } refusal)
        {
            await call.FailAsync([refusal]).ConfigureAwait(false);
        }
        else if (ComparedExchange.Read(replies[0].Body.Span) is not { } one
            || ComparedExchange.Read(replies[1].Body.Span) is not { } other)
        {
            await call.FailAsync(
                StatusCodes.Status502BadGateway, "node-answer", "A node has answered something else.").ConfigureAwait(false);
        }
        else
        {
            await call.WriteAsync(
                StatusCodes.Status200OK, InspectorResponse.Json,
                InspectorResponse.Of(json => ExchangeComparison.Write(json, one, other)).Body).ConfigureAwait(false);
        }

        Task<NodeReply> AskAsync(string node, string id) => nodes.Find(node) is { } location
            ? nodes.AskAsync(
                call.Http, location, HttpMethods.Get,
                call.SessionTarget(
                    $"/exchanges/{Uri.EscapeDataString(id)}", (RequestRules.Comparable, key), ("reveal", call.Parameter("reveal"))),
                call.Here, TimeSpan.Zero, call.Left)
            : Task.FromResult(NodeReply.Lost(node, "it does not live, and what it has kept is gone"));
    }

    /// <summary>One file of the exchanges of several nodes.</summary>
    public Task WriteFileAsync(ClusterCall call, IReadOnlyList<string> inspecting, IReadOnlyList<string> lost) =>
        file.WriteAsync(call, inspecting, lost);

    /// <summary>The versions of several nodes as one text.</summary>
    public static string VersionOf(IReadOnlyList<NodeReply> replies, long shared) => string.Join(
        ExchangeId.Comma,
        replies.Select(static reply => reply.IsLost ? $"{reply.Node}{ExchangeId.Separator}{Lost}" : OwnVersion(reply)).OfType<string>()
            .Append(ExchangeId.Text(Shared, shared)));

    private Task<NodeReply[]> AskAsync(ClusterCall call, IEnumerable<NodeLocation> all) =>
        Task.WhenAll(all.Select(node => nodes.AskAsync(
            call.Http, node, call.Method, call.Target(("since", null), ("wait", null)), call.Here, TimeSpan.Zero, call.Left)));

    /// <summary>Waits until one node has something new, and then asks the others what they have.</summary>
    private async Task<NodeReply[]> WaitAsync(ClusterCall call, IReadOnlyList<NodeLocation> all, string since, TimeSpan wait)
    {
        var known = since.Split(ExchangeId.Comma).ToHashSet(StringComparer.Ordinal);
        var version = shared.VersionOf(call.Session!);
        if (!known.Contains(ExchangeId.Text(Shared, version)))
        {
            return await AskAsync(call, all).ConfigureAwait(false);
        }

        using var over = new CancellationTokenSource(wait, time);
        using var enough = CancellationTokenSource.CreateLinkedTokenSource(call.Left, over.Token);
        using var given = CancellationTokenSource.CreateLinkedTokenSource(call.Left);
        var running = all.ToDictionary(
            node => nodes.AskAsync(call.Http, node, call.Method, call.Target(), call.Here, wait, given.Token), static node => node);
        var replies = new Dictionary<string, NodeReply>(StringComparer.Ordinal);

        // That the session has come to another node is news too. Nodes without it do not wait, so that none may be left to wait for.
        var moved = shared.WaitForChangeAsync(call.Session!, version, enough.Token);
        var isChanged = false;
        while (!isChanged && (running.Count > 0 || !replies.Values.Any(static reply => reply.IsDone)))
        {
            if (await Task.WhenAny([.. running.Keys, moved]).ConfigureAwait(false) is not Task<NodeReply> done)
            {
                if (shared.VersionOf(call.Session!) != version || running.Count == 0)
                {
                    break;
                }

                // The wait is over: the answers are on their way.
                done = await Task.WhenAny(running.Keys).ConfigureAwait(false);
            }

            running.Remove(done);
            var reply = await done.ConfigureAwait(false);
            replies[reply.Node] = reply;
            isChanged = IsNews(reply, known);
        }

        // What these have is wanted now; their waits are given up.
        var others = shared.VersionOf(call.Session!) == version ? running.Values.ToList() : all;
        await Task.WhenAll(enough.CancelAsync(), given.CancelAsync()).ConfigureAwait(false);
        await Task.WhenAll([.. running.Keys, moved]).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        foreach (var reply in await AskAsync(call, others).ConfigureAwait(false))
        {
            replies[reply.Node] = reply;
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

    /// <summary>Whether a node does not have the session's exchanges, or does not answer.</summary>
    private static bool IsWithout(NodeReply reply) => reply.IsLost || reply.Status == StatusCodes.Status404NotFound;

    /// <summary>The nodes that have kept exchanges of a session and have them no longer.</summary>
    private Dictionary<string, (string State, string Problem)> GoneOf(ClusterCall call, IReadOnlyList<NodeReply> replies)
    {
        var gone = new Dictionary<string, (string State, string Problem)>(StringComparer.Ordinal);
        foreach (var keepers in shared.KeepersOf(call.Session!).GroupBy(static keeper => keeper.Node, StringComparer.Ordinal))
        {
            var reply = replies.FirstOrDefault(reply => reply.Node == keepers.Key);
            if (reply is null)
            {
                gone[keepers.Key] = ("lost", "it has left the cluster, and what it had kept is gone");
            }
            else if (HasLost(reply, [.. keepers]))
            {
                gone[keepers.Key] = ("restarted", "it was started again, and what it had kept before is gone");
            }
        }

        return gone;
    }

    /// <summary>
    /// Whether a node that answers is another process than one that has kept exchanges. A node of the release before does not say which it
    /// is: of that, only the processes that have made themselves known count.
    /// </summary>
    private static bool HasLost(NodeReply reply, IReadOnlyList<InspectionKeeper> keepers) =>
        reply.Status == StatusCodes.Status404NotFound
        || (reply.IsDone && (ClusterLists.UntilOf(reply) is null
            || (ClusterLists.ProcessOf(reply) is { } process
                ? keepers.Any(keeper => keeper.Process != process)
                : keepers.Count > 1)));

    private ReadOnlyMemory<byte> Merge(ClusterCall call, IReadOnlyList<NodeReply> replies)
    {
        var gone = GoneOf(call, replies);
        var until = shared.UntilOf(call.Session!);
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
            json.WriteString("version", VersionOf(replies, shared.VersionOf(call.Session!)));
            ClusterInspections.WriteUntil(json, documents.Select(static one => ClusterLists.Text(one.Document, "until")), until);
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
                json.WriteRawValue(JsonMarshal.GetRawUtf8Value(exchange), skipInputValidation: true);
            }

            json.WriteEndArray();
            ClusterLists.WriteNodes(json, replies, gone: gone);
        });
    }

    /// <summary>Where the next page begins: for each node the id before which it continues.</summary>
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
