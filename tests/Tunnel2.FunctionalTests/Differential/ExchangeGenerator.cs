using System.Text;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Differential;

/// <summary>Makes exchanges that both ends of a pair can speak, from a seed.</summary>
internal sealed class ExchangeGenerator(SeededRandom random, Pair pair)
{
    private static readonly string[] _methods =
        ["GET", "GET", "GET", "HEAD", "POST", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "M-SEARCH", "get"];

    private static readonly string[] _targets =
    [
        "/", "/a", "/a/b?c=d", "/?", "/a?b=c&b=c&d", "//a//b", "/./a/../b", "/%2e%2E/%20", "/a;b=c", "/~user/(x)!$&'*+,=:@",
        "/%e2%82%ac?%C3%A9", "/a?b=%25+%2B", "/.well-known/x", "/a%2Fb%5c", "/|\"<>^`{}",
    ];

    private static readonly string[] _names =
    [
        "X-A", "x-a", "X-B", "x_b", "X.C", "Accept", "ACCEPT-language", "User-Agent", "Referer", "Range", "If-None-Match", "If-Range",
        "Authorization",
        "Origin", "Cache-Control", "Accept-Encoding", "Priority", "DNT", "Via", "X-Request-ID", "Content-Language", "X!#$%&'*+-.^_`|~9",
    ];

    private static readonly string[] _answerNames =
    [
        "X-A", "x-a", "X-B", "x_b", "Server", "ETag", "Last-Modified", "Cache-Control", "Vary", "Set-Cookie", "Set-Cookie", "Link",
        "Content-Type", "Content-Encoding", "Content-Range", "Accept-Ranges", "Location", "Retry-After", "WWW-Authenticate", "Date", "Via",
        "Age", "Alt-Svc",
        "Strict-Transport-Security", "X!#$%&'*+-.^_`|~9", "Content-Disposition", "Warning",
    ];

    private static readonly string[] _trailerNames = ["X-Sum", "x-sum", "Digest", "Server-Timing", "grpc-status", "ETag"];

    private static readonly int[] _statuses =
    [
        200, 200, 200, 200, 201, 202, 203, 206, 207, 226, 299, 300, 301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 405, 409, 410, 412,
        416, 418, 421, 425, 429, 451, 499, 500, 501, 502, 503, 504, 511, 599, 204, 304,
    ];

    /// <summary>Makes the next exchange.</summary>
    public PlannedExchange Next(int number)
    {
        var method = Pick(_methods);
        var response = NextResponse(method);
        var hasBody = method is "POST" or "PUT" or "PATCH" or "QUERY" && random.Next(6) > 0;
        var declares = hasBody && random.Next(2) == 0;
        var isEarly = hasBody && response.Framing != BodyFraming.Close && random.Next(12) == 0;
        return new PlannedExchange
        {
            Number = number,
            Method = method,
            Target = method == "OPTIONS" && random.Next(4) == 0 ? "*" : Pick(_targets),
            IsAbsolute = random.Next(10) == 0,
            Fields = [.. NextFields(_names), .. NextHopFields()],
            Body = hasBody ? NextPieces(64 * 1024) : null,
            DeclaresLength = declares,
            Trailers = hasBody && !declares && random.Next(3) == 0 ? [.. NextFields(_trailerNames, isTrailer: true)] : [],
            IsAnsweredEarly = isEarly,
            Response = response,
        };
    }

    private PlannedResponse NextResponse(string method)
    {
        var status = Pick(_statuses);
        var hasNone = status is 204 or 304;
        var framing = hasNone ? BodyFraming.None
            : random.Next(20) switch
            {
                < 9 => BodyFraming.Length,
                < 18 => BodyFraming.Chunked,
                _ => BodyFraming.Close,
            };
        var sends = framing != BodyFraming.None && method != "HEAD";
        return new PlannedResponse
        {
            Interims = [.. Enumerable.Range(0, random.Next(4) == 0 ? random.Next(1, 4) : 0).Select(_ => NextInterim())],
            Status = status,
            Reason = Pick(["OK", "Fine", "Not At All", "caf\u00e9", "x"]),
            Fields = [.. NextFields(_answerNames)],
            Body = framing == BodyFraming.None ? [] : NextPieces(48 * 1024),
            Framing = framing,
            Trailers = sends && framing == BodyFraming.Chunked && random.Next(3) == 0
                ? [.. NextFields(_trailerNames, isTrailer: true)]
                : [],
            IsInSplinters = random.Next(25) == 0,
        };
    }

    private (int Status, (string Name, string Value)[] Fields) NextInterim() =>
        (Pick([103, 103, 102, 199]), [.. NextFields(["Link", "X-A", "x-a"])]);

    private IEnumerable<(string Name, string Value)> NextFields(string[] names, bool isTrailer = false)
    {
        for (var left = random.Next(isTrailer ? 3 : 8) + (isTrailer ? 1 : 0); left > 0; left--)
        {
            yield return (Pick(names), NextValue(mayBeEmpty: !isTrailer));
        }

        if (!isTrailer && ReferenceEquals(names, _names) && random.Next(5) == 0)
        {
            yield return ("Cookie", "a=1; b=\"2\"");
        }
    }

    /// <summary>Fields that end at the first hop; HTTP/2 has none.</summary>
    private (string Name, string Value)[] NextHopFields() => pair.VisitorIsHttp2 ? [] : random.Next(12) switch
    {
        0 => [("Connection", "x-hop"), ("X-Hop", "1")],
        1 => [("Connection", "keep-alive, X-Hop"), ("Keep-Alive", "timeout=5"), ("x-hop", "1"), ("X-HOP", "2")],
        2 => [("Proxy-Connection", "keep-alive"), ("Proxy-Authorization", "Basic eDp5")],
        3 => [("TE", "trailers"), ("Connection", "TE")],
        4 => [("TE", "gzip;q=0.5"), ("Connection", "TE")],
        _ => [],
    };

    private string NextValue(bool mayBeEmpty)
    {
        var value = random.Next(12) switch
        {
            0 when mayBeEmpty => "",
            1 => "caf\u00e9 \u00ff\u0080",
            2 => "a\tb  c",
            3 => new string('v', random.Next(1, 1500)),
            4 => "\"quoted, \\\"text\\\"\"; q=0.5",
            5 => "a, b,, c",
            6 => ":;=,/?@[]{}<>|~",
            _ => NextWord(),
        };
        return value;
    }

    private string NextWord()
    {
        var word = new StringBuilder();
        for (var left = random.Next(1, 20); left > 0; left--)
        {
            word.Append((char)random.Next('!', '~' + 1));
        }

        return word.ToString();
    }

    private byte[][] NextPieces(int most)
    {
        var total = random.Next(5) switch
        {
            0 => 0,
            1 => random.Next(1, 5),
            4 => random.Next(1, most),
            _ => random.Next(1, 2000),
        };
        var pieces = new List<byte[]>();
        while (total > 0)
        {
            var length = Math.Min(total, pieces.Count == 40 ? total : random.Next(3) == 0 ? random.Next(1, 10) : random.Next(1, most));
            pieces.Add(random.NextBytes(length));
            total -= length;
        }

        return [.. pieces];
    }

    private T Pick<T>(T[] values) => values[random.Next(values.Length)];
}
