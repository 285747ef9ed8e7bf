using System.Collections.Concurrent;
using System.Net;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Http2Backends;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Differential;

/// <summary>Runs exchanges with a service itself, and through a tunnel to it.</summary>
internal static class Twice
{
    /// <summary>In the visitor's version, to a service that speaks it.</summary>
    public static async Task<Dictionary<int, SeenExchange>> DirectAsync(Pair pair, PlannedExchange[] plan)
    {
        var requests = new ConcurrentDictionary<int, SeenMessage>();
        await using var service = RawTcpServer.Start(Service(pair.VisitorIsHttp2, plan, requests));
        return Join(await VisitAsync(pair.VisitorIsHttp2, service.EndPoint, plan), requests);
    }

    /// <summary>Through the tunnel, to a service that speaks the pair's other version.</summary>
    public static async Task<Dictionary<int, SeenExchange>> ThroughAsync(Pair pair, PlannedExchange[] plan)
    {
        var requests = new ConcurrentDictionary<int, SeenMessage>();
        Dictionary<int, SeenMessage> responses = [];
        await TunnelFixture.RunAsync(
            Service(pair.ServiceIsHttp2, plan, requests),
            async tunnel => responses = await VisitAsync(pair.VisitorIsHttp2, tunnel.Entry.Http, plan),
            new TunnelSetup { Agent = pair.ServiceIsHttp2 ? Http2Service.Prior : static options => options });
        return Join(responses, requests);
    }

    private static Func<RawConnection, Task> Service(
        bool isHttp2, PlannedExchange[] plan, ConcurrentDictionary<int, SeenMessage> requests)
    {
        var byNumber = plan.ToDictionary(static exchange => exchange.Number);
        return isHttp2 ? Http2Side.Serve(byNumber, requests) : Http1Side.Serve(byNumber, requests);
    }

    private static Task<Dictionary<int, SeenMessage>> VisitAsync(bool isHttp2, IPEndPoint endPoint, PlannedExchange[] plan) =>
        isHttp2 ? Http2Side.VisitAsync(endPoint, plan) : Http1Side.VisitAsync(endPoint, plan);

    private static Dictionary<int, SeenExchange> Join(
        Dictionary<int, SeenMessage> responses, ConcurrentDictionary<int, SeenMessage> requests) =>
        responses.ToDictionary(static one => one.Key, one => new SeenExchange(requests.GetValueOrDefault(one.Key), one.Value));
}
