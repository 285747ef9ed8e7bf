using System.Collections.Concurrent;
using System.Globalization;
using System.Net;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Differential;

/// <summary>Visitor and service of HTTP/1.1, byte for byte.</summary>
internal static class Http1Side
{
    private const int Splinter = 7;
    private const int MostSplinters = 300;

    /// <summary>A service that answers each planned exchange as planned, and keeps what it saw of the request.</summary>
    public static Func<RawConnection, Task> Serve(
        IReadOnlyDictionary<int, PlannedExchange> plan, ConcurrentDictionary<int, SeenMessage> seen) => async connection =>
    {
        while (true)
        {
            RawHttpHead head;
            try
            {
                head = await connection.ReadHeadAsync();
            }
            catch (RawConnectionEndedException)
            {
                return;
            }

            var exchange = plan[int.Parse(head[PlannedExchange.NumberField]!, CultureInfo.InvariantCulture)];
            if (!exchange.IsAnsweredEarly)
            {
                var body = await connection.ReadBodyAsync(head);
                Assert.Equal(ConnectionEnding.Complete, body.Ending);
                seen[exchange.Number] = RequestOf(head, body);
            }

            var answer = Answer(exchange);
            await (exchange.Response.IsInSplinters && answer.Length < Splinter * MostSplinters
                ? connection.WriteInPiecesAsync(Encoding.Latin1.GetString(answer), Splinter)
                : connection.WriteAsync(answer));
            if (exchange.IsAnsweredEarly && (await connection.ReadBodyAsync(head)).Ending != ConnectionEnding.Complete)
            {
                return;
            }

            if (exchange.Response.Framing == BodyFraming.Close)
            {
                await connection.CloseAsync();
                return;
            }
        }
    };

    /// <summary>Sends exchanges on connections that are kept, several at once where that is possible.</summary>
    public static async Task<Dictionary<int, SeenMessage>> VisitAsync(IPEndPoint endPoint, IEnumerable<PlannedExchange> plan)
    {
        var seen = new Dictionary<int, SeenMessage>();
        RawHttpClient? visitor = null;
        var waiting = new List<PlannedExchange>();
        try
        {
            foreach (var exchange in plan)
            {
                waiting.Add(exchange);
                if (waiting.Count < 3 && MayBePipelined(exchange))
                {
                    continue;
                }

                visitor = await SendAsync(visitor, endPoint, waiting, seen);
                waiting.Clear();
            }

            visitor = await SendAsync(visitor, endPoint, waiting, seen);
            return seen;
        }
        finally
        {
            if (visitor is not null)
            {
                await visitor.DisposeAsync();
            }
        }
    }

    private static bool MayBePipelined(PlannedExchange exchange) =>
        exchange is { Body: null, IsAnsweredEarly: false } && exchange.Response.Framing != BodyFraming.Close;

    /// <summary>Sends requests in one piece and reads their answers in order.</summary>
    /// <returns>The connection, if it can be used again.</returns>
    private static async Task<RawHttpClient?> SendAsync(
        RawHttpClient? visitor, IPEndPoint endPoint, List<PlannedExchange> exchanges, Dictionary<int, SeenMessage> seen)
    {
        if (exchanges.Count == 0)
        {
            return visitor;
        }

        visitor ??= await RawHttpClient.ConnectAsync(endPoint);
        await visitor.WriteAsync(exchanges.SelectMany(Request).ToArray());
        foreach (var exchange in exchanges)
        {
            var start = new List<string>();
            RawHttpHead head;
            while (true)
            {
                head = await visitor.ReadHeadAsync();
                if (head.StatusCode >= 200)
                {
                    break;
                }

                var fields = string.Join(" | ", head.Fields.Select(static field => $"{field.Key}: {field.Value}"));
                start.Add($"interim {head.StatusCode}: {fields}");
            }

            var body = await visitor.ReadBodyAsync(head, exchange.Method);
            start.Add($"status {head.StatusCode}");
            start.Add($"reason {head.StartLine[Math.Min(13, head.StartLine.Length)..]}");
            start.Add($"end {body.Ending}");
            seen.Add(exchange.Number, new SeenMessage
            {
                Start = [.. start],
                Fields = Fields(head.Fields),
                Body = body.Bytes,
                Trailers = Fields(body.Trailers),
            });
            if (visitor.Ending != ConnectionEnding.Open
                || exchange.IsAnsweredEarly
                || string.Equals(head["Connection"], "close", StringComparison.OrdinalIgnoreCase))
            {
                await visitor.DisposeAsync();
                return null;
            }
        }

        return visitor;
    }

    private static byte[] Request(PlannedExchange exchange)
    {
        var bytes = new MemoryStream();
        var target = !exchange.IsAbsolute ? exchange.Target
            : exchange.Target == "*" ? $"http://{TunnelFixture.Host}"
            : $"http://{TunnelFixture.Host}{exchange.Target}";
        Write(bytes, $"{exchange.Method} {target} HTTP/1.1\r\n");
        Write(bytes, $"Host: {TunnelFixture.Host}\r\n{PlannedExchange.NumberField}: {exchange.Number}\r\n");
        WriteFields(bytes, exchange.Fields);
        WriteBody(
            bytes,
            exchange.Body ?? [],
            exchange.Body is null ? BodyFraming.None : exchange.DeclaresLength ? BodyFraming.Length : BodyFraming.Chunked,
            exchange.Trailers,
            sends: true);
        return bytes.ToArray();
    }

    private static byte[] Answer(PlannedExchange exchange)
    {
        var answer = exchange.Response;
        var bytes = new MemoryStream();
        foreach (var (status, fields) in answer.Interims)
        {
            Write(bytes, $"HTTP/1.1 {status} Interim\r\n");
            WriteFields(bytes, fields);
            Write(bytes, "\r\n");
        }

        Write(bytes, $"HTTP/1.1 {answer.Status} {answer.Reason}\r\n");
        WriteFields(bytes, answer.Fields);
        WriteBody(bytes, answer.Body, answer.Framing, answer.Trailers, sends: exchange.Method != "HEAD");
        return bytes.ToArray();
    }

    private static void WriteBody(MemoryStream bytes, byte[][] body, BodyFraming framing, (string, string)[] trailers, bool sends)
    {
        Write(bytes, framing switch
        {
            BodyFraming.Length => $"Content-Length: {body.Sum(static piece => piece.Length)}\r\n\r\n",
            BodyFraming.Chunked => "Transfer-Encoding: chunked\r\n\r\n",
            BodyFraming.Close => "Connection: close\r\n\r\n",
            _ => "\r\n",
        });
        if (!sends || framing == BodyFraming.None)
        {
            return;
        }

        var number = 0;
        foreach (var piece in body)
        {
            if (framing == BodyFraming.Chunked)
            {
                // Sizes in either case, with zeros before them and extensions after them.
                Write(bytes, number++ % 3 == 0 ? $"0{piece.Length:X};a=b;c=\"d\"\r\n" : $"{piece.Length:x}\r\n");
            }

            bytes.Write(piece);
            if (framing == BodyFraming.Chunked)
            {
                Write(bytes, "\r\n");
            }
        }

        if (framing == BodyFraming.Chunked)
        {
            Write(bytes, "0\r\n");
            WriteFields(bytes, trailers);
            Write(bytes, "\r\n");
        }
    }

    /// <summary>With and without white space around the value.</summary>
    private static void WriteFields(MemoryStream bytes, (string Name, string Value)[] fields)
    {
        for (var i = 0; i < fields.Length; i++)
        {
            Write(bytes, (i % 3) switch
            {
                0 => $"{fields[i].Name}: {fields[i].Value}\r\n",
                1 => $"{fields[i].Name}:{fields[i].Value}\r\n",
                _ => $"{fields[i].Name}: \t {fields[i].Value} \t\r\n",
            });
        }
    }

    private static void Write(MemoryStream bytes, string text) => bytes.Write(Encoding.Latin1.GetBytes(text));

    private static SeenMessage RequestOf(RawHttpHead head, RawHttpBody body) => new()
    {
        Start = [$"method {head.Method}", $"target {head.Target}", $"host {string.Join(" | ", head.All("Host"))}"],
        Fields = [.. Fields(head.Fields).Where(static field => !field.Name.Equals("Host", StringComparison.OrdinalIgnoreCase))],
        Body = body.Bytes,
        Trailers = Fields(body.Trailers),
    };

    private static List<(string Name, string Value)> Fields(IEnumerable<KeyValuePair<string, string>> fields) =>
        [.. fields.Select(static field => (field.Key, field.Value))];
}
