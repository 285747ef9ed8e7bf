using Tunnel2.Inspection.Exporting;
using Tunnel2.Inspection.Serving;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Api;
using Tunnel2.ProxyEntry.Cluster.Links;

namespace Tunnel2.ProxyEntry.ClusterCalls;

/// <summary>
/// Answers calls about sessions, and about what is kept of their requests, for all nodes of a cluster: what one node has is asked of that
/// node and passed on as it comes; lists are those of all nodes that answer in time, as one. What has come from another node is never
/// passed on. Thread-safe.
/// </summary>
internal sealed class ClusterApi(
    ClusterNodes nodes, ClusterExchanges exchanges, ClusterInspections inspections, TimeProvider time) : IClusterApi
{
    /// <summary>Until the answer of one node begins.</summary>
    public static readonly TimeSpan HeadLimit = TimeSpan.FromSeconds(10);

    /// <summary>The same for a replay, which has a minute itself.</summary>
    public static readonly TimeSpan ReplayLimit = TimeSpan.FromSeconds(65);

    /// <summary>What is passed on of an answer's fields: no other node says who may run scripts here, or sets cookies.</summary>
    private static readonly string[] _passed = ["content-type", "content-length", "content-disposition", "retry-after", "allow"];

    /// <inheritdoc/>
    public bool IsOn => nodes.Exist;

    /// <inheritdoc/>
    public async Task HandleAsync(HttpContext http, ApiOperation operation, string[] path, Func<HttpContext, Task> here)
    {
        var call = new ClusterCall(http, operation, path, nodes.Self, here);
        try
        {
            if (AdminOrigin.IsOfAnotherPage(http.Request) || call.Parameter(RequestRules.Comparable) is not null)
            {
                await here(http).ConfigureAwait(false);
            }
            else if (RefusalOf(call, path) is { } refusal)
            {
                await call.WriteAsync(refusal.Status, refusal.ContentType, refusal.Body).ConfigureAwait(false);
            }
            else if (call.Parameter("node") is { } node)
            {
                await PassAsync(call, node, call.Target(("node", null))).ConfigureAwait(false);
            }
            else if (call.Target().Length > NodeCall.MaxTarget)
            {
                await call.FailAsync(StatusCodes.Status414UriTooLong, "parameter", "Path and query are too long.").ConfigureAwait(false);
            }
            else
            {
                await AnswerAsync(call).ConfigureAwait(false);
            }
        }
        catch (OperationCanceledException) when (http.RequestAborted.IsCancellationRequested)
        {
            // The caller has left.
        }
    }

    /// <summary>
    /// What each node refuses, found before any is asked: some answers are made of what nodes answer to other questions, without this
    /// call's parameters and body.
    /// </summary>
    private static InspectorResponse? RefusalOf(ClusterCall call, string[] path)
    {
        var (operation, request) = (call.Operation, call.Http.Request);
        if (operation.MistakeOf(request.Query) is { } mistake)
        {
            return InspectorResponse.Error(StatusCodes.Status400BadRequest, "parameter", mistake);
        }

        if (operation.Body is null && operation.OwnBody == 0 && AdminBody.IsThere(request))
        {
            return InspectorResponse.Error(StatusCodes.Status400BadRequest, "body", "This takes no body.");
        }

        // 'node' is for this node.
        var target = call.Target(("node", null));
        return operation.RunAsync is not null ? null : RequestRules.Refuse(
            new InspectorRequest
            {
                Method = call.Method,
                Path = request.Path.Value ?? "",
                Query = target.IndexOf('?', StringComparison.Ordinal) is var at and >= 0 ? target[(at + 1)..] : "",
            },
            path[1..]);
    }

    private Task AnswerAsync(ClusterCall call) => call.Operation.Spread switch
    {
        OperationSpread.SessionList => SessionsAsync(call),
        OperationSpread.Session => SessionAsync(call),
        OperationSpread.RequestList => RequestsAsync(call),
        OperationSpread.Inspection => inspections.SwitchAsync(call),
        OperationSpread.ExchangeList => exchanges.ListAsync(call),
        OperationSpread.EachNode => EachAsync(call),
        OperationSpread.ExchangeFile when call.Parameter("id") is { } id => ExchangeAsync(call, id),
        OperationSpread.ExchangeFile => FileAsync(call),
        OperationSpread.Exchange => ExchangeAsync(call, call.Rest[1]),
        _ => call.Here(call.Http),
    };

    private async Task SessionsAsync(ClusterCall call)
    {
        var replies = await AskAllAsync(call, call.Target()).ConfigureAwait(false);
        if (!replies.Any(static reply => reply.IsDone))
        {
            await call.FailAsync(replies).ConfigureAwait(false);
            return;
        }

        await call.WriteAsync(
            StatusCodes.Status200OK, InspectorResponse.Json,
            call.IsOfInspector ? inspections.List(replies)
                : ClusterLists.Sessions([.. replies, .. nodes.Lost()], call.Number("limit") ?? SessionsApi.UsuallyListed))
            .ConfigureAwait(false);
    }

    private async Task RequestsAsync(ClusterCall call)
    {
        var replies = await AskAllAsync(call, call.Target()).ConfigureAwait(false);
        await (replies.Any(static reply => reply.IsDone)
            ? call.WriteAsync(
                StatusCodes.Status200OK, InspectorResponse.Json,
                ClusterLists.Requests([.. replies, .. nodes.Lost()], call.Number("limit") ?? RequestsApi.UsuallyListed))
            : call.FailAsync(replies)).ConfigureAwait(false);
    }

    /// <summary>One session: shows it, or asks its node to drain or to end it.</summary>
    private async Task SessionAsync(ClusterCall call)
    {
        var replies = await AskAllAsync(
            call, call.SessionTarget("", ("session", call.Parameter("session"))), HttpMethods.Get).ConfigureAwait(false);
        var found = replies.Where(static reply => reply.IsDone).ToList();
        if (found.Count > 1 || replies.Any(static reply => reply.Status == StatusCodes.Status409Conflict))
        {
            await call.FailAsync(
                StatusCodes.Status409Conflict, "several-sessions",
                "Several sessions have this name: say which one is meant, with 'session' (tunnel2-entry: --session) "
                + "or 'node'.").ConfigureAwait(false);
        }
        else if (found is not [var one] || one.Document() is not { } session)
        {
            await call.FailAsync(replies).ConfigureAwait(false);
        }
        else if (call.Method == HttpMethods.Get)
        {
            await call.WriteAsync(StatusCodes.Status200OK, one.ContentType, ClusterLists.WithNode(session, one.Node)).ConfigureAwait(false);
        }
        else
        {
            await PassAsync(call, one.Node, call.Target(("session", session.GetProperty("sessionId").GetString()))).ConfigureAwait(false);
        }
    }

    private async Task EachAsync(ClusterCall call)
    {
        var replies = await AskAllAsync(call, call.Target()).ConfigureAwait(false);
        await (replies.Any(static reply => reply.IsDone)
            ? call.WriteAsync(StatusCodes.Status204NoContent, "", default)
            : call.FailAsync(replies)).ConfigureAwait(false);
    }

    private async Task ExchangeAsync(ClusterCall call, string id)
    {
        var (node, _) = ExchangeId.Split(id);
        if (call.Rest is [_, _, "compare", var other] && ExchangeId.Split(other).Node is { } second && second != (node ?? nodes.Self))
        {
            await exchanges.CompareAsync(call, node ?? nodes.Self, id, second, other).ConfigureAwait(false);
            return;
        }

        if (node is null)
        {
            // An id of before the cluster: of this node where it inspects the session, otherwise of the only one that does.
            var (inspecting, replies) = await InspectingAsync(call).ConfigureAwait(false);
            node = inspecting.Contains(nodes.Self) ? nodes.Self : inspecting is [var only] ? only : null;
            if (node is null)
            {
                await (inspecting.Count > 1
                    ? call.FailAsync(
                        StatusCodes.Status409Conflict, "several-nodes",
                        $"Several nodes inspect the session: say which one, as in {inspecting[0]}{ExchangeId.Separator}{id}.")
                    : FailOfNoneAsync(call, replies)).ConfigureAwait(false);
                return;
            }
        }

        await PassAsync(call, node, call.Target()).ConfigureAwait(false);
    }

    private async Task FileAsync(ClusterCall call)
    {
        var (inspecting, replies) = await InspectingAsync(call).ConfigureAwait(false);
        var missing = exchanges.MissingOf(call, replies);
        await (inspecting.Count == 0 && !exchanges.IsInspected(call) ? FailOfNoneAsync(call, replies)
            : inspecting is [var only] && missing.Count == 0 ? PassAsync(call, only, call.Target())
            : exchanges.WriteFileAsync(call, inspecting, [.. missing.Keys])).ConfigureAwait(false);
    }

    private static Task FailOfNoneAsync(ClusterCall call, IReadOnlyList<NodeReply> replies) =>
        replies.FirstOrDefault(static reply => reply.IsLost) is { } lost
            ? call.FailAsync(
                StatusCodes.Status503ServiceUnavailable, "node-lost", $"Node {lost.Node} does not answer: {lost.Problem}.")
            : call.FailAsync(StatusCodes.Status404NotFound, "no-session", "No session of this name is inspected.");

    /// <summary>The nodes that inspect a call's session.</summary>
    private async Task<(IReadOnlyList<string> Nodes, IReadOnlyList<NodeReply> Replies)> InspectingAsync(ClusterCall call)
    {
        var replies = await AskAllAsync(call, call.SessionTarget("/inspection"), HttpMethods.Get).ConfigureAwait(false);
        return ([.. replies.Where(static reply => ClusterLists.UntilOf(reply) is not null).Select(static reply => reply.Node)], replies);
    }

    private Task<IReadOnlyList<NodeReply>> AskAllAsync(ClusterCall call, string target, string? method = null) =>
        nodes.AskAllAsync(call, target, method);

    /// <summary>Lets one node answer.</summary>
    private async Task PassAsync(ClusterCall call, string node, string target)
    {
        if (node == nodes.Self)
        {
            var query = target.IndexOf('?', StringComparison.Ordinal);
            call.Http.Request.QueryString = query < 0 ? QueryString.Empty : new QueryString(target[query..]);
            await call.Here(call.Http).ConfigureAwait(false);
            return;
        }

        if (nodes.Find(node) is not { } location)
        {
            await call.FailAsync(
                StatusCodes.Status404NotFound, "no-node",
                call.Operation.Spread is OperationSpread.ExchangeList or OperationSpread.Exchange or OperationSpread.ExchangeFile
                    ? $"No node {node} lives: what one has kept is gone with it." : $"No node {node} lives.")
                .ConfigureAwait(false);
            return;
        }

        ReadOnlyMemory<byte> body = default;
        if (AdminBody.IsThere(call.Http.Request))
        {
            (body, var problem) = await AdminBody.ReadAsync(call.Http, call.Operation.OwnBody, time).ConfigureAwait(false);
            if (problem is not null)
            {
                await call.FailAsync(problem.Status, problem.Code, problem.Detail).ConfigureAwait(false);
                return;
            }
        }

        var request = new NodeCallRequest(call.Method, target)
        {
            ContentType = call.Http.Request.ContentType ?? "",
            Body = body,
            Waits = call.Number("wait") > 0,
        };
        var limit = call.Operation.OwnBody > 0 ? ReplayLimit : HeadLimit + TimeSpan.FromSeconds(call.Number("wait") ?? 0);
        using var late = new CancellationTokenSource(limit, time);
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(late.Token, call.Left);
        try
        {
            var (answer, place, trouble) = await nodes.CallAsync(call.Http, location, request, stop.Token).ConfigureAwait(false);
            if (answer is null)
            {
                await call.FailAsync(
                    StatusCodes.Status503ServiceUnavailable, "node-lost", $"Node {node} does not answer: {trouble!.Text}.")
                    .ConfigureAwait(false);
                return;
            }

            // What has begun may take as long as the caller takes for it.
            late.CancelAfter(Timeout.InfiniteTimeSpan);
            using (place)
            using (answer)
            {
                await PassAsync(call, answer).ConfigureAwait(false);
            }
        }
        catch (OperationCanceledException) when (!call.Left.IsCancellationRequested)
        {
            nodes.Failed(location, "timeout");
            await call.FailAsync(
                StatusCodes.Status503ServiceUnavailable, "node-lost", $"Node {node} does not answer in time.").ConfigureAwait(false);
        }
        catch (IOException)
        {
            // The rest will not come: a cut distinguishes this from the end.
            nodes.Failed(location, "cut");
            call.Http.Abort();
        }
    }

    private static async Task PassAsync(ClusterCall call, NodeCallAnswer answer)
    {
        var response = call.Http.Response;
        response.StatusCode = answer.Status;
        foreach (var (name, value) in answer.Fields)
        {
            if (_passed.Contains(name, StringComparer.OrdinalIgnoreCase))
            {
                response.Headers[name] = value;
            }
        }

        foreach (var (name, value) in PageFiles.Fields)
        {
            response.Headers[name] = value;
        }

        if (answer.Status != StatusCodes.Status204NoContent && !HttpMethods.IsHead(call.Http.Request.Method))
        {
            await answer.Body.CopyToAsync(response.Body, call.Left).ConfigureAwait(false);
        }
    }
}
