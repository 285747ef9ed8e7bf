using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Forwarding;

/// <summary>
/// Makes room where all places of visitors' connections are busy and others wait: the tunnel that has most of them gives some up, so that
/// long transfers and open connections of one tunnel never keep out the visitors of all others. The newest of its connections end, because
/// those that wait may be its own visitors: then only the few last places change hands. Thread-safe.
/// </summary>
internal sealed class CrowdedPlaces(ForwardWatchdog requests, ParkingLot lot, ISessionDirectory directory)
{
    /// <summary>The part of the places that no tunnel has to give up.</summary>
    private const int Share = 8;

    /// <summary>Ends the newest connections of the tunnel that has most, of the owner that has most.</summary>
    /// <param name="places">How many places there are.</param>
    /// <param name="most">How many connections at most.</param>
    /// <returns>How many connections were ended; 0 where no owner has more than an eighth of the places.</returns>
    public int EndNewest(int places, int most)
    {
        if (directory.Count < 2)
        {
            // All wait for the same tunnel.
            return 0;
        }

        var kept = Math.Max(1, places / Share);
        var (connections, has) = Largest();
        var excess = Math.Min(most, has - kept);
        if (excess <= 0 || connections.Count < 2)
        {
            return lot.EndOfLargest(kept, most);
        }

        var newest = connections.OrderByDescending(static one => one.Value.Began).Take(Math.Min(excess, connections.Count - 1));
        var ended = 0;
        foreach (var (_, connection) in newest)
        {
            ended++;
            foreach (var (request, use) in connection.Requests)
            {
                request.Exchange?.GiveUpPlace();
                request.Cut(use, ProxyError.PlacesTaken, StreamResetReason.Cancel);
            }
        }

        return ended;
    }

    /// <summary>The connections of the largest tunnel of the largest owner, and how many that owner has.</summary>
    private (Dictionary<object, Connection> Connections, int OfOwner) Largest()
    {
        var owners = new Dictionary<Owner, Dictionary<string, Dictionary<object, Connection>>>();
        requests.Visit(request =>
        {
            if (request.Exchange?.Place is not { } place)
            {
                return;
            }

            // A request that another node serves is known by the number of the registration there.
            var session = request.Session;
            var owner = session is null ? new Owner(null, request.NodeEpoch) : new Owner(session.Owner, 0);
            var tunnels = Of(owners, owner);
            var connections = Of(tunnels, session?.Name ?? "");
            if (!connections.TryGetValue(place, out var connection))
            {
                connections.Add(place, connection = new Connection(request.Times.Started, []));
            }

            connection.Requests.Add((request, request.Use));
        });

        return owners.Count == 0
            ? ([], 0)
            : owners.Values
                .Select(static tunnels => (tunnels.Values.MaxBy(static one => one.Count)!, tunnels.Values.Sum(static one => one.Count)))
                .MaxBy(static owner => owner.Item2);
    }

    private static TValue Of<TKey, TValue>(Dictionary<TKey, TValue> values, TKey key)
        where TKey : notnull
        where TValue : new()
    {
        if (!values.TryGetValue(key, out var value))
        {
            values.Add(key, value = new TValue());
        }

        return value;
    }

    private readonly record struct Owner(AgentIdentity? Identity, long NodeEpoch);

    /// <summary>A connection: when one of its running requests began, and those requests, with their uses.</summary>
    private sealed record Connection(long Began, List<(ForwardedRequest Request, int Use)> Requests);
}
