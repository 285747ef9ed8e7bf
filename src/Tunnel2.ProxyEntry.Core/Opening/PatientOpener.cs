using System.Collections.Immutable;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.Policies;
using Tunnel2.ProxyEntry.RateLimits;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Opening;

/// <summary>The result of a look-up: a stream, or the reason why there is none.</summary>
/// <param name="Error">Why there is no stream, or null.</param>
/// <param name="Session">The session, if one was found.</param>
/// <param name="Stream">The stream; null with an error or an answer.</param>
/// <param name="Answer">What a policy answers in place of the service, or null.</param>
/// <param name="MayBeElsewhere">Whether another node has to be asked before the error counts.</param>
/// <param name="IsInCluster">Whether the cluster has a session, which this node cannot use now: the request may wait for it.</param>
/// <param name="AwaitedFor">As <see cref="LocatedName.AwaitedFor"/>.</param>
internal readonly record struct OpenResult(
    ProxyError? Error, EntrySession? Session, TunnelStream? Stream, ErrorResponse? Answer = null, bool MayBeElsewhere = false,
    bool IsInCluster = false, TimeSpan? AwaitedFor = null);

/// <summary>
/// Finds the session of a request and opens a stream on it. If the agent is away but expected back, the request waits for it; its body is
/// not read until then. Thread-safe.
/// </summary>
internal sealed class PatientOpener
{
    /// <summary>How often a login is checked again because the rules changed while it was checked.</summary>
    private const int MostLogins = 3;

    private readonly NameResolver _names;
    private readonly ParkingPolicy _policy;
    private readonly ParkingLot _lot;
    private readonly AccessGate _access;
    private readonly PolicyGate _policies;
    private readonly WebhookGate _webhooks;
    private readonly ProxyEntryMetrics _metrics;
    private readonly NodeRouter? _nodes;

    public PatientOpener(
        NameResolver names,
        ParkingPolicy policy,
        ParkingLot lot,
        AccessGate access,
        PolicyGate policies,
        WebhookGate webhooks,
        ISessionDirectory directory,
        ProxyEntryMetrics metrics,
        NodeRouter? nodes = null)
    {
        _nodes = nodes;
        _policies = policies;
        _webhooks = webhooks;
        _access = access;
        _names = names;
        _policy = policy;
        _lot = lot;
        _metrics = metrics;
        directory.Registered += session => lot.Release(session.Name, session.Owner);
    }

    /// <summary>Looks up the session once, without waiting.</summary>
    /// <param name="exchange">The request.</param>
    /// <param name="request">The forwarder's state of the request.</param>
    /// <param name="except">An uplink that has just refused or lost the request, or null.</param>
    public OpenResult TryOpen(VisitorExchange exchange, ForwardedRequest request, UplinkStreams? except = null)
    {
        var unresolved = _names.Resolve(exchange.Address, out var path, out var session);
        exchange.Forward(path);
        if (unresolved is { } error)
        {
            return _nodes is { } nodes && error is ProxyError.AgentOffline or ProxyError.UnknownName or ProxyError.UnknownHost
                && nodes.MayPass(exchange, request)
                ? TryOpenElsewhere(exchange, request, nodes, error, except)
                : new OpenResult(error, null, null);
        }

        if (TryOpenDomain(exchange, request, session!, except) is { } domain)
        {
            return domain;
        }

        if (!exchange.Suits(session!))
        {
            return new OpenResult(exchange.IsRaw ? ProxyError.UnknownName : ProxyError.NotHttp, null, null);
        }

        if (request.Owner is { } owner && session!.Owner != owner)
        {
            // The request waited for another owner's session, or was already sent to it. The agent that has the name now must not get it.
            return new OpenResult(ProxyError.AgentOffline, null, null);
        }

        if (TryOpenBetter(exchange, request, session!, except) is { } better)
        {
            return better;
        }

        if (session!.Access is { } rules && _access.Check(exchange, request, rules) is { } denied)
        {
            return new OpenResult(denied, session, null);
        }

        if (session.Policy is { } table && _policies.Check(exchange, request, table, TablesOf(exchange, table)) is { } stop)
        {
            return new OpenResult(stop.Error, session, null, stop.Answer);
        }

        if (session.Webhooks is { } signatures && _webhooks.Check(exchange, request, signatures) is { } unsigned)
        {
            return new OpenResult(unsigned, session, null);
        }

        if (session.RateLimit is { } limit && !TryCount(exchange, request, limit))
        {
            _metrics.RateLimited(limit);
            return new OpenResult(ProxyError.RateLimit, session, null);
        }

        if (session.Member?.Pool is { } pool)
        {
            return OpenInPool(exchange, request, session, pool, except);
        }

        if (session.Tunnel.TryOpenStream(except, exchange.Home, exchange.IsSettled) is { } stream)
        {
            return new OpenResult(null, session, stream);
        }

        foreach (var uplink in session.Tunnel.Uplinks)
        {
            if (uplink.IsOpenForStreams)
            {
                return new OpenResult(ProxyError.StreamLimit, session, null);
            }
        }

        return new OpenResult(ProxyError.AgentOffline, session, null);
    }

    /// <summary>The tables for the name that a request is for: a wildcard's session has more for some domains.</summary>
    private ImmutableArray<SessionTable> TablesOf(VisitorExchange exchange, SessionPolicy policy)
    {
        if (!policy.HasDomains)
        {
            return policy.Tables;
        }

        Span<char> domain = stackalloc char[DomainName.MaxLength];
        return policy.TablesOf(domain[.._names.CopyDomain(exchange.Address, domain)]);
    }

    /// <summary>Opens a stream at a member of a pool. What holds for the request was checked: it is the same for all members.</summary>
    private OpenResult OpenInPool(
        VisitorExchange exchange, ForwardedRequest request, EntrySession any, SessionPool pool, UplinkStreams? except) =>
        pool.TryOpenStream(request.Tried, except, exchange.Home, exchange.IsSettled, out var session) is { } stream
            ? new OpenResult(null, session, stream)
            : new OpenResult(pool.HasOther(default) ? ProxyError.StreamLimit : ProxyError.AgentOffline, any, null);

    /// <summary>Cancelled when this node is about to stop; see <see cref="NodeRouter.Leaving"/>.</summary>
    public CancellationToken NodeLeaving => _nodes?.Leaving ?? CancellationToken.None;

    /// <summary>Copies the name that a request is for; <see cref="NameResolver.CopyName"/>.</summary>
    public int CopyName(VisitorExchange exchange, ForwardedRequest request, Span<char> name) =>
        _names.CopyName(exchange.Address, name, request.IsDomainAsked);

    /// <summary>Nothing was done with a request at another node; <see cref="NodeRouter.HasLeft"/>.</summary>
    public bool HasLeft(VisitorExchange exchange, ForwardedRequest request, in StreamFailure failure) =>
        _nodes!.HasLeft(request, _names.GetName(exchange.Address, request.IsDomainAsked), failure);

    /// <summary>
    /// The name of the tunnel for log lines about a request without a session: the public name, or the Host if that contains none.
    /// Allocates.
    /// </summary>
    public string NameOf(VisitorExchange exchange) =>
        _names.GetName(exchange.Address) is { Length: > 0 } name ? name : exchange.Authority;

    /// <summary>
    /// Continues after <see cref="TryOpen"/> found the agent offline, or a login or a signature that has to be checked: waits for the
    /// check, and for the agent, if the policy says so, and looks again.
    /// </summary>
    /// <param name="exchange">The request.</param>
    /// <param name="request">The forwarder's state of the request.</param>
    /// <param name="result">What <see cref="TryOpen"/> found.</param>
    /// <param name="except">An uplink that has just refused or lost the request, or null.</param>
    public async ValueTask<OpenResult> WaitAsync(
        VisitorExchange exchange, ForwardedRequest request, OpenResult result, UplinkStreams? except = null)
    {
        if (result is { MayBeElsewhere: true, Error: null })
        {
            result = await OpenBetterAsync(exchange, request, result.Session!, except).ConfigureAwait(false);
        }

        if (result.Error is ProxyError.LoginRequired or ProxyError.WebhookSignature)
        {
            result = await LogInAsync(exchange, request, result, except).ConfigureAwait(false);
        }

        if (result.MayBeElsewhere)
        {
            result = await OpenElsewhereAsync(exchange, request, result, except).ConfigureAwait(false);

            // It may have led back to a session of this node.
            result = await LogInAsync(exchange, request, result, except).ConfigureAwait(false);
        }

        if (!(result.IsInCluster || result.Error is ProxyError.AgentOffline or ProxyError.NameUnchecked) || exchange.IsFromNode)
        {
            // The node where a request came in is the one that has it wait: the agent may come back to any node.
            return result;
        }

        var name = _names.GetName(exchange.Address, request.IsDomainAsked);
        if (!_policy.TryGetDeadline(name, result.IsInCluster, result.AwaitedFor, out var deadline, out var owner))
        {
            return result;
        }

        if (result.IsInCluster)
        {
            owner = request.Owner;
        }
        else if (request.Owner is { } before && owner != before)
        {
            return result;
        }

        request.Owner = owner;

        // What comes back here serves it, also if there are better ones elsewhere.
        request.StaysHere = true;
        var isCounted = false;
        var address = _access.KeyOf(exchange);
        while (true)
        {
            var place = _lot.TryEnter(name, owner, address, request.NodesLeft.Bound(deadline), exchange.BytesHeldUnread);
            if (place is null)
            {
                if (isCounted)
                {
                    _metrics.ParkingEnded(ParkOutcome.TimedOut);
                }

                _metrics.ParkingRefused();
                return result;
            }

            // The agent may have registered between the look-up and the entry, and no signal would come.
            var found = TryOpen(exchange, request);
            if (!IsAbsent(found))
            {
                place.Leave();
                if (isCounted)
                {
                    _metrics.ParkingEnded(ParkOutcome.Returned);
                }

                return await LogInAsync(exchange, request, found, null).ConfigureAwait(false);
            }

            if (!isCounted)
            {
                _metrics.ParkingStarted();
                isCounted = true;
            }

            var (outcome, looks) = await WaitAsync(place, exchange, request).ConfigureAwait(false);
            if (looks)
            {
                // A node that had just got the session, and did not know it yet, may be asked again.
                request.NodesLeft.BeginAgain(deadline);
                found = await OpenElsewhereAsync(exchange, request, found, null).ConfigureAwait(false);
                if (found.Stream is null && (result.Error != ProxyError.NameUnchecked || found.Error == ProxyError.NameUnchecked))
                {
                    continue;
                }

                // A stream; or at last an answer of the cluster, which says whether to wait for something else.
                _metrics.ParkingEnded(ParkOutcome.Returned);
                return found.Stream is null ? await WaitAsync(exchange, request, found).ConfigureAwait(false) : found;
            }

            _metrics.ParkingEnded(outcome);
            isCounted = false;
            if (outcome != ParkOutcome.Returned)
            {
                return outcome == ParkOutcome.Closed ? result with { Error = ProxyError.Draining } : result;
            }

            found = await LogInAsync(exchange, request, TryOpen(exchange, request), null).ConfigureAwait(false);
            if (!IsAbsent(found))
            {
                return found;
            }
        }
    }

    /// <summary>Whether a look-up has found no session, here or where nodes can be asked at once.</summary>
    private static bool IsAbsent(in OpenResult result) => result.Error == ProxyError.AgentOffline || result.MayBeElsewhere;

    /// <summary>Waits for the agent at a place; in a cluster for a second at most, because the agent may return to another node.</summary>
    /// <returns>How the wait ended, and whether only to look at other nodes.</returns>
    private async ValueTask<(ParkOutcome Outcome, bool Looks)> WaitAsync(
        ParkedRequest place, VisitorExchange exchange, ForwardedRequest request)
    {
        if (_nodes is not { } nodes || !nodes.MayPass(exchange, request))
        {
            return (await place.WaitAsync(exchange.VisitorLeft).ConfigureAwait(false), false);
        }

        var (timer, both) = nodes.CreateLook(exchange.VisitorLeft);
        using (timer)
        using (both)
        {
            var outcome = await place.WaitAsync(both.Token).ConfigureAwait(false);
            return (outcome, outcome == ParkOutcome.VisitorLeft && !exchange.VisitorLeft.IsCancellationRequested);
        }
    }

    /// <summary>Whether a request that a member of this node did nothing with may have one at another node.</summary>
    public bool MayTryElsewhere(VisitorExchange exchange, ForwardedRequest request)
    {
        if (_nodes is not { } nodes || request.StaysHere || !nodes.MayPass(exchange, request))
        {
            return false;
        }

        Span<char> name = stackalloc char[DomainName.MaxLength];
        name = name[..CopyName(exchange, request, name)];
        return !name.IsEmpty && nodes.MayHave(request, name);
    }

    /// <summary>
    /// Where the sessions of this node are about to stop, or their services do not work, a better one may be at another node. Before
    /// anything is checked: the node of the session does that.
    /// </summary>
    /// <returns>Null: the session of this node gets the request.</returns>
    private OpenResult? TryOpenBetter(VisitorExchange exchange, ForwardedRequest request, EntrySession session, UplinkStreams? except)
    {
        if (_nodes is not { } nodes || (session.Member is null && !session.IsSpread) || request.StaysHere
            || !nodes.MayPass(exchange, request) || RankOf(session, request) is not (> 0 and var rank))
        {
            return null;
        }

        Span<char> name = stackalloc char[DomainName.MaxLength];
        name = name[..CopyName(exchange, request, name)];
        return name.IsEmpty || !nodes.MayHave(request, name, rank) ? null
            : nodes.TryOpen(exchange, request, name, except, rank) is { } stream ? new OpenResult(null, null, stream)
            : new OpenResult(null, session, null, MayBeElsewhere: true);
    }

    private async ValueTask<OpenResult> OpenBetterAsync(
        VisitorExchange exchange, ForwardedRequest request, EntrySession session, UplinkStreams? except)
    {
        var name = _names.GetName(exchange.Address, request.IsDomainAsked);
        var opening = await _nodes!.OpenAsync(exchange, request, name, except, RankOf(session, request)).ConfigureAwait(false);
        if (opening.Stream is { } stream)
        {
            return new OpenResult(null, null, stream);
        }

        request.StaysHere = true;
        return TryOpen(exchange, request, except);
    }

    /// <summary>How good the best session of this node is for a request; <see cref="NodePlace.Rank"/>.</summary>
    private static int RankOf(EntrySession session, ForwardedRequest request)
    {
        if (session.Member?.Pool is { } pool)
        {
            return pool.BestRank(request.Tried);
        }

        // Its agent has sessions at other nodes, which may be reached while nothing comes from it here.
        var load = session.Tunnel.ReadLoad(null, session.UplinkSettings.TimeProvider.GetTimestamp());
        return !load.IsOpen ? int.MaxValue : (load.IsStalled ? 4 : 0) + (session.IsLeaving ? 2 : 0);
    }

    /// <summary>A domain that another node has counts before a wildcard of this node.</summary>
    /// <returns>Null: the wildcard counts.</returns>
    private OpenResult? TryOpenDomain(VisitorExchange exchange, ForwardedRequest request, EntrySession session, UplinkStreams? except)
    {
        if (session.Name[0] != '*' || _nodes is not { } nodes || request.IsDomainAsked || !nodes.MayPass(exchange, request))
        {
            return null;
        }

        Span<char> name = stackalloc char[DomainName.MaxLength];
        name = name[..CopyName(exchange, request, name)];
        return name.IsEmpty || name[0] == '*' ? null : TryOpenElsewhere(exchange, request, nodes, ProxyError.AgentOffline, except);
    }

    /// <summary>Another node may have the session.</summary>
    private OpenResult TryOpenElsewhere(
        VisitorExchange exchange, ForwardedRequest request, NodeRouter nodes, ProxyError error, UplinkStreams? except)
    {
        Span<char> name = stackalloc char[DomainName.MaxLength];
        name = name[..CopyName(exchange, request, name)];
        return name.IsEmpty ? new OpenResult(error, null, null)
            : nodes.TryOpen(exchange, request, name, except) is { } stream ? new OpenResult(null, null, stream)
            : new OpenResult(error, null, null, MayBeElsewhere: true);
    }

    /// <summary>Asks which node has the session, and opens a stream there.</summary>
    private async ValueTask<OpenResult> OpenElsewhereAsync(
        VisitorExchange exchange, ForwardedRequest request, OpenResult result, UplinkStreams? except)
    {
        var name = _names.GetName(exchange.Address, request.IsDomainAsked);
        var opening = await _nodes!.OpenAsync(exchange, request, name, except).ConfigureAwait(false);
        if (opening is { Stream: null, Obstacle: NodeObstacle.NoNode or NodeObstacle.Unanswered } && !(opening.AwaitedFor > TimeSpan.Zero)
            && !request.IsDomainAsked && DomainName.IsMeant(name) && !DomainName.IsWildcard(name))
        {
            // No session has the domain itself, or is expected to: the wildcard above it counts, here or at another node.
            request.IsDomainAsked = true;
            result = TryOpen(exchange, request, except);
            var next = _names.GetName(exchange.Address, isDomainAsked: true);
            if (!result.MayBeElsewhere || next == name)
            {
                return Explain(result with { MayBeElsewhere = false }, opening);
            }

            if (result.Error is null)
            {
                return await OpenBetterAsync(exchange, request, result.Session!, except).ConfigureAwait(false);
            }

            var above = await _nodes.OpenAsync(exchange, request, next, except).ConfigureAwait(false);
            opening = above with
            {
                Obstacle = above.Obstacle == NodeObstacle.NoNode ? opening.Obstacle : above.Obstacle,
                AwaitedFor = above.AwaitedFor ?? opening.AwaitedFor,
            };
        }

        return opening switch
        {
            { Stream: { } stream } => new OpenResult(null, null, stream),
            { Obstacle: NodeObstacle.NoNode or NodeObstacle.Unanswered } => Explain(new OpenResult(result.Error, null, null), opening),
            { Obstacle: NodeObstacle.Unreachable } => new OpenResult(ProxyError.NodeUnreachable, null, null, IsInCluster: true),
            _ => new OpenResult(ProxyError.AgentOffline, null, null, IsInCluster: true),
        };
    }

    /// <summary>A name is not called unknown while its agent is away, or where the cluster gave no answer.</summary>
    private static OpenResult Explain(OpenResult result, in NodeOpening opening) =>
        result.Error is not (ProxyError.UnknownName or ProxyError.UnknownHost or ProxyError.AgentOffline) ? result
        : opening.AwaitedFor is { } rest ? result with { Error = ProxyError.AgentOffline, AwaitedFor = rest }
        : opening.Obstacle == NodeObstacle.NoNode ? result
        : result with
        {
            Error = result.Error == ProxyError.AgentOffline ? ProxyError.AgentOffline : ProxyError.NameUnchecked,
            AwaitedFor = ParkingPolicy.AnswerWait,
        };

    /// <summary>
    /// Waits until a login or a signature is checked, and looks again. Does nothing where none has to be checked.
    /// </summary>
    private async ValueTask<OpenResult> LogInAsync(
        VisitorExchange exchange, ForwardedRequest request, OpenResult result, UplinkStreams? except)
    {
        for (var i = 0; i < MostLogins && result.Error == ProxyError.LoginRequired && AccessGate.IsUndecided(request); i++)
        {
            if (await _access.DecideAsync(exchange, request).ConfigureAwait(false) is { } denied)
            {
                return result with { Error = denied };
            }

            result = TryOpen(exchange, request, except);
        }

        if (result.Error == ProxyError.WebhookSignature && WebhookGate.IsUndecided(request))
        {
            return await _webhooks.DecideAsync(exchange, request).ConfigureAwait(false) is { } unsigned
                ? result with { Error = unsigned }
                : TryOpen(exchange, request, except);
        }

        return result;
    }

    /// <summary>Counts a request against its session's limit, and adds to the response how much is left.</summary>
    /// <returns>False when the limit is reached.</returns>
    private static bool TryCount(VisitorExchange exchange, ForwardedRequest request, SessionRateLimit limit)
    {
        if (!request.IsCounted)
        {
            request.IsCounted = limit.TryTake();
            RateLimitFields.Describe(limit, request.UseExtras(exchange));
        }

        return request.IsCounted;
    }
}
