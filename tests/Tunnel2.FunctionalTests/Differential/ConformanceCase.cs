namespace Tunnel2.FunctionalTests.Differential;

/// <summary>
/// One thing that an exchange may have, for docs/conformance.md: sent to the service and through the tunnel for each pair.
/// </summary>
/// <param name="Kind">What kind of thing.</param>
/// <param name="What">The thing.</param>
/// <param name="Exchange">The exchange that has it.</param>
internal sealed record ConformanceCase(string Kind, string What, PlannedExchange Exchange)
{
    private static readonly byte[][] _body = ["one,"u8.ToArray(), "two"u8.ToArray()];
    private static readonly byte[][] _none = [];

    /// <summary>For which pairs there is such a thing.</summary>
    public Func<Pair, bool> Where { get; init; } = static _ => true;

    /// <summary>The rows.</summary>
    public static ConformanceCase[] All { get; } =
        [.. Make().Select(static (one, i) => one with { Exchange = one.Exchange with { Number = i } })];

    private static IEnumerable<ConformanceCase> Make()
    {
        yield return Request("target", "path and query", static exchange => exchange with { Target = "/a/b?c=d&c=e" });
        yield return Request("target", "an empty query", static exchange => exchange with { Target = "/a?" });
        yield return Request("target", "dots, empty segments", static exchange => exchange with { Target = "/./a/../b//c" });
        yield return Request("target", "percent-encoding, in either case", static exchange => exchange with { Target = "/%2e%2F%c3%A9" });
        yield return Request("target", "characters that a URI must not have", static exchange => exchange with { Target = "/|\"<>^`{}" });
        yield return Request("target", "`*`", static exchange => exchange with { Method = "OPTIONS", Target = "*" });
        yield return Request("target", "absolute", static exchange => exchange with { Target = "/a", IsAbsolute = true }) with
        {
            Where = static pair => !pair.VisitorIsHttp2,
        };
        yield return Request("target", "absolute, without path and query", static exchange => exchange with
        {
            Method = "OPTIONS",
            Target = "*",
            IsAbsolute = true,
        }) with
        {
            Where = static pair => !pair.VisitorIsHttp2,
        };
        yield return Request("method", "`HEAD`", static exchange => exchange with
        {
            Method = "HEAD",
            Response = exchange.Response with { Body = _body, Framing = BodyFraming.Length },
        });
        yield return Request("method", "of an extension", static exchange => exchange with { Method = "M-SEARCH" });
        yield return Request("method", "in lower case", static exchange => exchange with { Method = "get" });
        foreach (var (what, fields) in Fields())
        {
            yield return Request("field of a request", what, exchange => exchange with { Fields = fields });
        }

        foreach (var (what, fields) in new[]
        {
            ("`TE: trailers`", new[] { ("TE", "trailers"), ("Connection", "TE") }),
            ("one that `Connection` lists", new[] { ("Connection", "x-hop"), ("X-Hop", "1") }),
        })
        {
            var one = Request("field of a request", what, exchange => exchange with { Fields = fields });
            yield return one with { Where = static pair => !pair.VisitorIsHttp2 };
        }

        foreach (var (what, method, body, declares) in new[]
        {
            ("of declared length", "POST", _body, true),
            ("of declared length 0", "POST", _none, true),
            ("of no declared length", "POST", _body, false),
            ("of no declared length, empty", "POST", _none, false),
            ("after `GET`", "GET", _body, true),
        })
        {
            yield return Request(
                "body of a request", what, exchange => exchange with { Method = method, Body = body, DeclaresLength = declares });
        }

        yield return Request("trailer of a request", "repeated", static exchange => exchange with
        {
            Method = "POST",
            Body = _body,
            Trailers = [("X-Sum", "1"), ("X-Other", "caf\u00e9"), ("X-Sum", "2")],
        });
        yield return Request("trailer of a request", "after no bytes of a body", static exchange => exchange with
        {
            Method = "POST",
            Body = [],
            Trailers = [("X-Sum", "1")],
        });
        foreach (var status in new[] { 200, 204, 206, 304, 404, 421, 499, 599 })
        {
            var framing = status is 204 or 304 ? BodyFraming.None : BodyFraming.Length;
            yield return Response("status", $"{status}", answer => answer with { Status = status, Framing = framing });
        }

        yield return Response("status", "426 with `Upgrade`", static answer => answer with
        {
            Status = 426,
            Fields = [("Upgrade", "websocket, chat/2"), ("Connection", "Upgrade")],
        }) with
        {
            Where = static pair => !pair.ServiceIsHttp2,
        };
        yield return Response("status", "a reason phrase of its own", static answer => answer with { Reason = "Not At All" });
        yield return Response("interim", "103 with fields", static answer => answer with
        {
            Interims = [(103, [("Link", "</a>"), ("X-A", "1")])],
        });
        yield return Response("interim", "102, 199, 103", static answer => answer with { Interims = [(102, []), (199, []), (103, [])] });
        foreach (var (what, fields) in Fields())
        {
            yield return Response("field of a response", what, answer => answer with { Fields = fields });
        }

        yield return Response("field of a response", "`Set-Cookie` twice", static answer => answer with
        {
            Fields = [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")],
        });
        yield return Body("of declared length", _body, BodyFraming.Length);
        yield return Body("of declared length 0", [], BodyFraming.Length);
        yield return Body("chunked; in HTTP/2 of no declared length", _body, BodyFraming.Chunked);
        yield return Body("that ends with the connection", _body, BodyFraming.Close) with { Where = static pair => !pair.ServiceIsHttp2 };
        yield return Response("body of a response", "in pieces of a few bytes", static answer => answer with
        {
            Body = [.. Enumerable.Range(0, 40).Select(static i => new[] { (byte)i })],
            Framing = BodyFraming.Chunked,
            IsInSplinters = true,
        });
        yield return Response("trailer of a response", "repeated", static answer => answer with
        {
            Body = _body,
            Framing = BodyFraming.Chunked,
            Trailers = [("X-Sum", "1"), ("X-Other", "caf\u00e9"), ("X-Sum", "2")],
        });
        yield return Response("trailer of a response", "after no body", static answer => answer with
        {
            Framing = BodyFraming.Chunked,
            Trailers = [("X-Sum", "1")],
        });
        yield return Request("end", "an answer before the body was read", static exchange => exchange with
        {
            Method = "POST",
            Body = [new byte[1000]],
            DeclaresLength = true,
            IsAnsweredEarly = true,
            Response = exchange.Response with { Status = 413 },
        });
    }

    private static IEnumerable<(string What, (string Name, string Value)[] Fields)> Fields() =>
    [
        ("repeated, with others between", [("X-A", "1"), ("X-B", "2"), ("X-A", "3")]),
        ("repeated, in another case", [("X-A", "1"), ("x-a", "2")]),
        ("an empty value", [("X-A", "")]),
        ("bytes beyond ASCII", [("X-A", "caf\u00e9 \u0080\u00ff")]),
        ("a tab inside", [("X-A", "a\tb")]),
        ("every sign that a name may have", [("X!#$%&'*+-.^_`|~9", "1")]),
        ("a comma list with empty elements", [("Accept", "a, b,, c")]),
    ];

    private static ConformanceCase Body(string what, byte[][] body, BodyFraming framing) =>
        Response("body of a response", what, answer => answer with { Body = body, Framing = framing });

    private static ConformanceCase Request(string kind, string what, Func<PlannedExchange, PlannedExchange> change) => new(
        kind,
        what,
        change(new PlannedExchange { Number = 0, Response = new PlannedResponse { Framing = BodyFraming.Length } }));

    private static ConformanceCase Response(string kind, string what, Func<PlannedResponse, PlannedResponse> change) =>
        Request(kind, what, exchange => exchange with { Response = change(exchange.Response) });
}
