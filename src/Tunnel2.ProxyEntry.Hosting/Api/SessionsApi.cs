using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Api.Documents;
using Tunnel2.ProxyEntry.Inspection;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>
/// Sessions: lists them, drains one, ends one. An agent whose session was drained or ended connects again; its token decides whether it
/// may. Thread-safe.
/// </summary>
internal sealed class SessionsApi(
    ISessionDirectory directory, PublicAddresses addresses, EntryInspections inspections, ApiAudit audit, TimeProvider time)
{
    /// <summary>How many a page has where the call does not say.</summary>
    public const int UsuallyListed = 100;

    private const int MostListed = 500;
    private const string DrainText = "An administrator drains the session.";
    private const string KickText = "An administrator ended the session.";

    /// <summary>A page of the sessions.</summary>
    public ValueTask<ApiAnswer> ListAsync(ApiCall call) => ValueTask.FromResult(List(call));

    /// <summary>One session.</summary>
    public ValueTask<ApiAnswer> GetAsync(ApiCall call) =>
        ValueTask.FromResult(Find(call, out var problem) is { } session ? ApiAnswer.Of(Describe(session)) : problem!);

    /// <summary>
    /// Lets a session finish what is under way: it gets no new requests, and ends with the last one. New requests wait for its agent,
    /// which connects again. Once more it changes nothing.
    /// </summary>
    public async ValueTask<ApiAnswer> DrainAsync(ApiCall call)
    {
        if (Find(call, out var problem) is not { } session)
        {
            return problem!;
        }

        if (!session.IsLeaving)
        {
            await directory.MarkLeavingAsync(session.Name, session.Epoch, call.Left).ConfigureAwait(false);
            SessionTakeover.Drain(session, SessionEndReason.Shutdown, DrainText);

            audit.Changed(call, "drains session", NameOf(session));
        }

        return ApiAnswer.Of(Describe(session), StatusCodes.Status202Accepted);
    }

    /// <summary>Ends a session: requests under way are cut.</summary>
    public ValueTask<ApiAnswer> KickAsync(ApiCall call)
    {
        if (Find(call, out var problem) is not { } session)
        {
            return ValueTask.FromResult(problem!);
        }

        audit.Changed(call, "ends session", NameOf(session));
        session.Tunnel.End(SessionEndReason.Shutdown, KickText);
        return ValueTask.FromResult(ApiAnswer.Done);
    }

    /// <summary>The session of a name; also one that leaves.</summary>
    /// <remarks>Pages know a domain as the live plane writes it.</remarks>
    public EntrySession? Find(string name) =>
        directory.Snapshot().FirstOrDefault(session => session.Name == name || session.ShownName == name);

    /// <summary>The answer where there is none.</summary>
    public static ApiAnswer NoSession { get; } =
        ApiAnswer.Problem(StatusCodes.Status404NotFound, "no-session", "There is no session of this name.");

    /// <summary>The session that a call is about: the only one of its name, or the one of its id.</summary>
    private EntrySession? Find(ApiCall call, out ApiAnswer? problem)
    {
        var id = call.Text("session");
        var found = directory.Snapshot()
            .Where(session => session.Name == call.Name && (id is null || session.DisplayId == id)).Take(2).ToList();
        problem = found.Count == 0 ? NoSession
            : found.Count == 1 ? null
            : ApiAnswer.Problem(
                StatusCodes.Status409Conflict, "several-sessions",
                "Several agents share this name: say which session is meant, with 'session' (tunnel2-entry: --session).");
        return problem is null ? found[0] : null;
    }

    private static string NameOf(EntrySession session) => $"{session.Name} ({session.DisplayId})";

    private ApiAnswer List(ApiCall call)
    {
        if (call.Number("limit", UsuallyListed, MostListed, out var limit) is { } problem)
        {
            return problem;
        }

        if (call.Text("inspected") is not (null or "false"))
        {
            return ApiAnswer.Problem(StatusCodes.Status400BadRequest, "parameter", "'inspected' is true or false.");
        }

        NamePattern? pattern = null;
        if (call.Text("name") is { } name && !NamePattern.TryParse(name, out pattern))
        {
            return ApiAnswer.Problem(StatusCodes.Status400BadRequest, "parameter", $"'name' is {NamePattern.Form}.");
        }

        var agent = call.Text("agent");
        var after = call.Text("after") ?? "";
        var passing = directory.Snapshot().Where(session =>
            (pattern is null || pattern.Matches(session.Name))
            && (agent is null || session.Identity.ToString().Equals(agent, StringComparison.OrdinalIgnoreCase))).ToList();
        passing.Sort(static (one, other) => string.CompareOrdinal(one.Name, other.Name) is var names && names != 0
            ? names
            : one.Epoch.CompareTo(other.Epoch));
        var first = passing.FindIndex(session => string.CompareOrdinal(session.Name, after) > 0);
        if (first >= 0)
        {
            // The next page begins after a name, so a page has all sessions of its last one.
            while (first + limit < passing.Count && passing[first + limit].Name == passing[first + limit - 1].Name)
            {
                limit++;
            }
        }

        var page = first < 0 ? [] : passing.Skip(first).Take(limit).ToList();
        return ApiAnswer.Of(new SessionPage
        {
            Sessions = [.. page.Select(Describe)],
            Total = passing.Count,
            Next = first >= 0 && first + limit < passing.Count ? page[^1].Name : null,
        });
    }

    private SessionInfo Describe(EntrySession session) => new()
    {
        Name = session.Name,
        SessionId = session.DisplayId,
        Agent = session.Identity.ToString(),
        AgentVersion = session.AgentVersion,
        Kind = session.Kind.ToString().ToLowerInvariant(),
        Urls = addresses.Of(session),
        Since = time.GetUtcNow() - time.GetElapsedTime(session.StartedAt),
        State = session.IsLeaving ? "leaving" : "serving",
        Tier = session.RateLimit?.Tier.Name,
        InspectedUntil = inspections.UntilOf(session.Name),
        Pool = session.Member is { Pool: { } pool } member ? Describe(member, pool) : null,
        OpenStreams = session.Tunnel.OpenStreams,
        Uplinks = [.. session.Tunnel.Uplinks.Select(Describe)],
    };

    private static PoolMemberInfo Describe(PoolMember member, SessionPool pool)
    {
        var now = member.Now;
        return new PoolMemberInfo
        {
            Members = pool.Members.Count,
            Healthy = member.IsHealthy,
            Spared = member.IsPaused(now),
            Share = member.WeightAt(now) * 100 / PoolMember.FullWeight,
        };
    }

    private static UplinkInfo Describe(UplinkConnection uplink) => new()
    {
        Slot = uplink.Slot,
        Remote = uplink.RemoteName,
        RoundTripMs = uplink.RoundTrip.Last is { Ticks: > 0 } last ? Math.Round(last.TotalMilliseconds, 3) : null,
        OpenStreams = uplink.OpenStreams,
        Sent = uplink.Statistics.BytesSent,
        Received = uplink.Statistics.BytesReceived,
        Stalled = uplink.IsStalled(uplink.Settings.TimeProvider.GetTimestamp()),
    };
}
