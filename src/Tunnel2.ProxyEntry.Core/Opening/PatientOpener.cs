using Tunnel2.Multiplexing.Streams;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.RateLimits;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Opening;

/// <summary>The result of a look-up: a stream, or the reason why there is none.</summary>
/// <param name="Error">Why there is no stream, or null.</param>
/// <param name="Session">The session, if one was found.</param>
/// <param name="Stream">The stream; null with an error.</param>
internal readonly record struct OpenResult(ProxyError? Error, EntrySession? Session, TunnelStream? Stream);

/// <summary>
/// Finds the session of a request and opens a stream on it. If the agent is away but expected back, the request waits for it; its body is
/// not read until then. Thread-safe.
/// </summary>
internal sealed class PatientOpener
{
    private readonly NameResolver _names;
    private readonly ParkingPolicy _policy;
    private readonly ParkingLot _lot;
    private readonly ProxyEntryMetrics _metrics;

    public PatientOpener(NameResolver names, ParkingPolicy policy, ParkingLot lot, ISessionDirectory directory, ProxyEntryMetrics metrics)
    {
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
            return new OpenResult(error, null, null);
        }

        if (request.Owner is { } owner && session!.Owner != owner)
        {
            // The request waited for another owner's session, or was already sent to it. The agent that has the name now must not get it.
            return new OpenResult(ProxyError.AgentOffline, null, null);
        }

        if (session!.RateLimit is { } limit && !TryCount(exchange, request, limit))
        {
            _metrics.RateLimited(limit);
            return new OpenResult(ProxyError.RateLimit, session, null);
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

    /// <summary>
    /// The name of the tunnel for log lines about a request without a session: the public name, or the Host if that contains none.
    /// Allocates.
    /// </summary>
    public string NameOf(VisitorExchange exchange) =>
        _names.GetName(exchange.Address) is { Length: > 0 } name ? name : exchange.Authority;

    /// <summary>
    /// Continues after <see cref="TryOpen"/> found the agent offline: waits for the agent, if the policy says so, and looks again.
    /// </summary>
    public async ValueTask<OpenResult> WaitAsync(VisitorExchange exchange, ForwardedRequest request, OpenResult result)
    {
        var name = _names.GetName(exchange.Address);
        if (!_policy.TryGetDeadline(name, out var deadline, out var owner) || (request.Owner is { } before && owner != before))
        {
            return result;
        }

        request.Owner = owner;

        while (true)
        {
            var place = _lot.TryEnter(name, owner, deadline, exchange.BytesHeldUnread);
            if (place is null)
            {
                _metrics.ParkingRefused();
                return result;
            }

            // The agent may have registered between the look-up and the entry, and no signal would come.
            result = TryOpen(exchange, request);
            if (result.Error != ProxyError.AgentOffline)
            {
                place.Leave();
                return result;
            }

            _metrics.ParkingStarted();
            var outcome = await place.WaitAsync(exchange.VisitorLeft).ConfigureAwait(false);
            _metrics.ParkingEnded(outcome);
            if (outcome != ParkOutcome.Returned)
            {
                return outcome == ParkOutcome.Closed ? result with { Error = ProxyError.Draining } : result;
            }

            result = TryOpen(exchange, request);
            if (result.Error != ProxyError.AgentOffline)
            {
                return result;
            }
        }
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
