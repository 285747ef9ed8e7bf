using System.Collections.Concurrent;
using System.Globalization;
using System.Net;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Differential;

/// <summary>Visitor and service of HTTP/2, frame by frame.</summary>
internal static class Http2Side
{
    private const int AtOnce = 4;

    /// <summary>A service that answers each planned exchange as planned, and keeps what it saw of the request.</summary>
    public static Func<RawConnection, Task> Serve(
        IReadOnlyDictionary<int, PlannedExchange> plan, ConcurrentDictionary<int, SeenMessage> seen) =>
        async connection =>
        {
            using var service = new Http2PlanService(connection, plan, seen);
            await service.RunAsync();
        };

    /// <summary>Sends exchanges on one connection, some at once.</summary>
    public static async Task<Dictionary<int, SeenMessage>> VisitAsync(IPEndPoint endPoint, IEnumerable<PlannedExchange> plan)
    {
        var seen = new Dictionary<int, SeenMessage>();
        await using var visitor = await Http2Visitor.ConnectAsync(endPoint, isTls: false);
        foreach (var some in plan.Chunk(AtOnce))
        {
            foreach (var (number, message) in await Task.WhenAll(some.Select(exchange => ExchangeAsync(visitor, exchange))))
            {
                seen.Add(number, message);
            }
        }

        return seen;
    }

    /// <summary>Fields as HTTP/2 has them.</summary>
    public static IEnumerable<(string Name, string Value)> Lower((string Name, string Value)[] fields) =>
        fields.Select(static field => (field.Name.ToLowerInvariant(), field.Value));

    private static async Task<(int Number, SeenMessage Message)> ExchangeAsync(Http2Visitor visitor, PlannedExchange exchange)
    {
        var length = exchange.Body?.Sum(static piece => piece.Length) ?? 0;
        (string, string)[] declared = exchange.DeclaresLength ? [("content-length", length.ToString(CultureInfo.InvariantCulture))] : [];
        var stream = await visitor.OpenAsync(
            [
                (":method", exchange.Method), (":scheme", "http"), (":authority", TunnelFixture.Host), (":path", exchange.Target),
                (PlannedExchange.NumberField, exchange.Number.ToString(CultureInfo.InvariantCulture)),
                .. Lower(exchange.Fields),
                .. declared,
            ],
            end: exchange.Body is null);
        var sending = exchange.Body is null ? Task.CompletedTask : SendAsync(visitor, stream, exchange);
        var answer = await stream.ReadWholeAsync();
        if (exchange.IsAnsweredEarly)
        {
            _ = EndAsync(sending);
        }
        else
        {
            await sending;
        }

        var head = stream.Blocks.FirstOrDefault() ?? [];
        return (exchange.Number, new SeenMessage
        {
            Start =
            [
                .. stream.Interims.Select(static interim => $"interim {interim[0].Value}: {Show(interim.Skip(1))}"),
                $"status {answer.Status}",
                answer.Reset is null or 0 && stream.Blocks.Count > 0 ? $"end {ConnectionEnding.Complete}" : $"end by reset {answer.Reset}",
            ],
            Fields = [.. head.Where(static field => field.Name != ":status")],
            Body = Encoding.Latin1.GetBytes(answer.Body),
            Trailers = [.. stream.Blocks.Skip(1).SelectMany(static block => block)],
        });
    }

    /// <summary>What is left of a body may find no reader, and no credit: it ends with the connection.</summary>
    private static async Task EndAsync(Task sending)
    {
        try
        {
            await sending;
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException)
        {
            // The connection is over.
        }
    }

    private static string Show(IEnumerable<(string Name, string Value)> fields) =>
        string.Join(" | ", fields.Select(static field => $"{field.Name}: {field.Value}"));

    private static async Task SendAsync(Http2Visitor visitor, Http2VisitorStream stream, PlannedExchange exchange)
    {
        foreach (var piece in exchange.Body!)
        {
            await visitor.SendDataAsync(stream, piece, end: false);
        }

        if (exchange.Trailers.Length > 0)
        {
            await visitor.SendTrailersAsync(stream, Lower(exchange.Trailers));
        }
        else
        {
            await visitor.SendDataAsync(stream, default, end: true);
        }
    }
}
