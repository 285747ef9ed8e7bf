using System.Net;
using System.Text;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Primitives;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Fronts.HttpContexts;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Fronts.Http1;

namespace Tunnel2.ProxyEntry.Tests.Fronts;

/// <summary>
/// The same message through both fronts in memory: what the agent would get of it, and what the visitor gets of the answer.
/// </summary>
internal static class TwoFronts
{
    private const string Host = "web.localhost";

    /// <summary>A request, as a visitor of either version of HTTP sends it.</summary>
    /// <param name="Fields">Its fields beside Host.</param>
    internal sealed record Request(params (string Name, string Value)[] Fields)
    {
        public string Method { get; init; } = "POST";

        /// <summary>The trailers, or null: a request without a body of unknown length.</summary>
        public (string Name, string Value)[]? Trailers { get; init; }

        public string[] Settings { get; init; } = [];

        /// <summary>What ProxyEntry adds.</summary>
        public Action<ExchangeExtras>? Extras { get; init; }
    }

    /// <summary>What came of a request.</summary>
    /// <param name="Fault">Why it is refused, or null.</param>
    /// <param name="Block">The request block as text, and the block of trailers after it; empty when it is refused.</param>
    /// <param name="ExpectsContinue">Whether the body waits for a 100.</param>
    internal sealed record Passed(ProxyError? Fault, string Block, bool ExpectsContinue);

    /// <summary>Fields of a response and of its trailers.</summary>
    internal sealed record Answer(List<string> Fields, List<string> Trailers);

    public static async Task<Passed> ByHttp1Async(Request request)
    {
        var passed = new Passed(null, "", false);
        await using var front = new FrontFixture(
            async (exchange, _) =>
            {
                var (block, expects) = ReadHead(exchange, request);
                try
                {
                    await ScriptedForwarder.ReadBodyAsync(exchange);
                    passed = exchange.HasRequestTrailers && Trailers(exchange) is var trailers
                        ? trailers is null ? Refused() : new Passed(null, block + trailers, expects)
                        : new Passed(null, block, expects);
                }
                catch (BadHttpRequestException)
                {
                    passed = Refused();
                }

                ScriptedForwarder.Answer(exchange, "ok");
            },
            settings: request.Settings);
        var hasTransferCoding = request.Fields.Any(
            static field => field.Name.Equals("transfer-encoding", StringComparison.OrdinalIgnoreCase));
        var text = new StringBuilder($"{request.Method} /a?b HTTP/1.1\r\nHost: {Host}\r\n");
        Append(text, request.Fields);
        text.Append(request.Trailers is null || hasTransferCoding ? "" : "Transfer-Encoding: chunked\r\n").Append("\r\n");
        if (request.Trailers is not null || hasTransferCoding)
        {
            text.Append("2\r\nok\r\n0\r\n");
            Append(text, request.Trailers ?? []);
            text.Append("\r\n");
        }
        else
        {
            text.Append(
                request.Fields.Any(static field => field.Name.Equals("content-length", StringComparison.OrdinalIgnoreCase)) ? "ok" : "");
        }

        await front.SendAsync(text.ToString());
        await front.ReceiveUpToAsync("\r\n\r\nok");
        return front.Forwarder.Refused is [var fault] ? new Passed(fault, "", false) : passed;
    }

    public static Passed ByHttp2(Request request)
    {
        var (exchange, _) = OpenHttp2(request);
        if (exchange.Fault is { } fault)
        {
            return new Passed(fault, "", false);
        }

        var (block, expects) = ReadHead(exchange, request);
        return request.Trailers is null ? new Passed(null, block, expects)
            : Trailers(exchange) is { } trailers ? new Passed(null, block + trailers, expects)
            : Refused();
    }

    public static async Task<Answer> AnswerByHttp1Async(
        int status, (string Name, string Value)[] fields, (string Name, string Value)[] trailers)
    {
        await using var front = new FrontFixture((exchange, _) =>
        {
            Assert.True(ScriptedForwarder.Start(exchange, status, fields));
            if (trailers.Length > 0)
            {
                exchange.WriteBody("ok"u8);
                ScriptedForwarder.Trailers(exchange, trailers);
            }

            exchange.CompleteResponse();
            return default;
        });
        await front.SendAsync($"GET / HTTP/1.1\r\nHost: {Host}\r\n\r\n");
        var text = await front.ReceiveUpToAsync(trailers.Length > 0 ? "X-Last: 1\r\n\r\n" : "\r\n\r\n");
        var head = text[..(text.IndexOf("\r\n\r\n", StringComparison.Ordinal) + 2)];
        var end = text.IndexOf("\r\n0\r\n", StringComparison.Ordinal);
        return new Answer([.. Lines(head).Skip(1)], end < 0 ? [] : [.. Lines(text[(end + 5)..])]);
    }

    public static Answer AnswerByHttp2(int status, (string Name, string Value)[] fields, (string Name, string Value)[] trailers)
    {
        var (exchange, http) = OpenHttp2(new Request { Method = "GET" });
        Assert.True(ScriptedForwarder.Start(exchange, status, fields));
        if (trailers.Length > 0)
        {
            ScriptedForwarder.Trailers(exchange, trailers);
        }

        return new Answer(Lines(http.Response.Headers), Lines(http.Features.GetRequiredFeature<IHttpResponseTrailersFeature>().Trailers));
    }

    /// <summary>Bytes that each writing of a request's block allocates.</summary>
    public static async Task<long> AllocatedByHttp1Async(Request request)
    {
        var allocated = -1L;
        await using var front = new FrontFixture(
            (exchange, _) =>
            {
                allocated = Allocated(exchange);
                ScriptedForwarder.Answer(exchange, "ok");
                return default;
            },
            settings: request.Settings);
        var text = new StringBuilder($"{request.Method} /a?b HTTP/1.1\r\nHost: {Host}\r\n");
        Append(text, request.Fields);
        await front.SendAsync(text.Append("\r\n").ToString());
        await front.ReceiveUpToAsync("\r\n\r\nok");
        return allocated;
    }

    /// <summary>The same over HTTP/2.</summary>
    public static long AllocatedByHttp2(Request request) => Allocated(OpenHttp2(request).Exchange);

    private static long Allocated(VisitorExchange exchange)
    {
        const int Rounds = 100;
        exchange.Forward(default);
        var buffer = new byte[4096];
        Write();
        var before = GC.GetAllocatedBytesForCurrentThread();
        for (var i = 0; i < Rounds; i++)
        {
            Write();
        }

        return (GC.GetAllocatedBytesForCurrentThread() - before) / Rounds;

        void Write()
        {
            var writer = new HeaderBlockWriter(buffer);
            exchange.WriteRequestBlock(ref writer);
            Assert.False(writer.Overflowed);
        }
    }

    private static Passed Refused() => new(ProxyError.BadRequest, "", false);

    private static (string Block, bool ExpectsContinue) ReadHead(VisitorExchange exchange, Request request)
    {
        if (request.Extras is { } add)
        {
            exchange.Extras = new ExchangeExtras();
            add(exchange.Extras);
        }

        exchange.Forward(default);
        return (ScriptedForwarder.Describe(exchange), exchange.ExpectsContinue);
    }

    /// <summary>The block of trailers as text; null when one breaks a rule.</summary>
    private static string? Trailers(VisitorExchange exchange)
    {
        var bytes = new byte[ProtocolLimits.MaxHeaderBlockLength];
        var writer = new HeaderBlockWriter(bytes);
        writer.BeginTrailers();
        if (!exchange.TryWriteRequestTrailers(ref writer))
        {
            return null;
        }

        HeaderBlock.TryRead(bytes.AsSpan(0, writer.Complete()), out var block);
        var text = new StringBuilder();
        foreach (var field in block.Fields)
        {
            text.Append(Encoding.Latin1.GetString(field.Name)).Append(": ").Append(Encoding.Latin1.GetString(field.Value)).Append('\n');
        }

        return text.ToString();
    }

    private static (HttpContextExchange Exchange, HttpContext Http) OpenHttp2(Request request)
    {
        var headers = Dictionary([("Host", Host), .. request.Fields]);
        var features = new FeatureCollection();
        features.Set<IHttpRequestFeature>(new HttpRequestFeature
        {
            Protocol = "HTTP/2",
            Scheme = "http",
            Method = request.Method,
            RawTarget = "/a?b",
            Headers = headers,
        });
        features.Set<IHttpResponseFeature>(new HttpResponseFeature());
        features.Set<IHttpResponseBodyFeature>(new StreamResponseBodyFeature(Stream.Null));
        features.Set<IHttpConnectionFeature>(
            new HttpConnectionFeature { RemoteIpAddress = IPAddress.Parse("10.1.2.3"), LocalPort = 12000 });
        features.Set<IHttpRequestBodyDetectionFeature>(new BodyDetection(request.Trailers is not null || headers.ContentLength > 0));
        features.Set<IHttpRequestTrailersFeature>(new RequestTrailers(Dictionary(request.Trailers ?? [])));
        features.Set<IHttpResponseTrailersFeature>(new ResponseTrailers());
        var http = new DefaultHttpContext(features);
        var exchange = new HttpContextExchange(http, SettingsFixture.LoadValid(request.Settings));
        exchange.Begin();
        return (exchange, http);
    }

    private static HeaderDictionary Dictionary((string Name, string Value)[] fields)
    {
        var headers = new HeaderDictionary();
        foreach (var (name, value) in fields)
        {
            headers[name] = headers.TryGetValue(name, out var before) ? StringValues.Concat(before, value) : value;
        }

        return headers;
    }

    private static void Append(StringBuilder text, (string Name, string Value)[] fields)
    {
        foreach (var (name, value) in fields)
        {
            text.Append(name).Append(": ").Append(value).Append("\r\n");
        }
    }

    private static List<string> Lines(string text) => [.. text.Split("\r\n", StringSplitOptions.RemoveEmptyEntries)];

    private static List<string> Lines(IHeaderDictionary headers) =>
        [.. headers.SelectMany(static field => field.Value.Select(value => $"{field.Key}: {value}"))];

    private sealed record BodyDetection(bool CanHaveBody) : IHttpRequestBodyDetectionFeature;

    private sealed record RequestTrailers(IHeaderDictionary Trailers) : IHttpRequestTrailersFeature
    {
        public bool Available => true;
    }

    private sealed record ResponseTrailers : IHttpResponseTrailersFeature
    {
        public IHeaderDictionary Trailers { get; set; } = new HeaderDictionary();
    }
}
