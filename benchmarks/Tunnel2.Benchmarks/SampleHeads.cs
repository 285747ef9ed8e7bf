using System.Text;

namespace Tunnel2.Benchmarks;

/// <summary>Message heads of the size that browsers and services send.</summary>
internal static class SampleHeads
{
    private const string BrowserFieldLines =
        """
        Host: web.localhost:12000
        Connection: keep-alive
        sec-ch-ua: "Chromium";v="140", "Not=A?Brand";v="24"
        sec-ch-ua-mobile: ?0
        sec-ch-ua-platform: "Linux"
        Upgrade-Insecure-Requests: 1
        User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36
        Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8
        Sec-Fetch-Site: same-origin
        Accept-Encoding: gzip, deflate, br, zstd
        Accept-Language: en-GB,en;q=0.9
        Cookie: session=4f1c2a9e7b5d4c3f8a6e1d2b3c4f5a6e; theme=dark
        """;

    private const string ServiceFieldLines =
        """
        Content-Type: application/json; charset=utf-8
        Content-Length: 1024
        Date: Sat, 21 Nov 2026 12:00:00 GMT
        Cache-Control: no-cache, no-store
        ETag: W/"400-19a2b3c4d5e"
        Server: sample
        """;

    /// <summary>The fields of <see cref="BrowserRequest"/>.</summary>
    public static IEnumerable<(byte[] Name, byte[] Value)> BrowserFields => Split(BrowserFieldLines);

    /// <summary>The fields of <see cref="ServiceResponse"/>.</summary>
    public static IEnumerable<(byte[] Name, byte[] Value)> ServiceFields => Split(ServiceFieldLines);

    /// <summary>A request head as HTTP/1.1 carries it.</summary>
    public static byte[] BrowserRequest => Head("GET /products/1234?color=blue HTTP/1.1", BrowserFieldLines);

    /// <summary>A response head as HTTP/1.1 carries it.</summary>
    public static byte[] ServiceResponse => Head("HTTP/1.1 200 OK", ServiceFieldLines);

    private static byte[] Head(string startLine, string fields) =>
        Encoding.Latin1.GetBytes($"{startLine}\n{fields}\n\n".ReplaceLineEndings("\r\n"));

    private static IEnumerable<(byte[] Name, byte[] Value)> Split(string lines) =>
        from line in lines.ReplaceLineEndings("\n").Split('\n')
        let colon = line.IndexOf(": ", StringComparison.Ordinal)
        select (Encoding.Latin1.GetBytes(line[..colon]), Encoding.Latin1.GetBytes(line[(colon + 2)..]));
}
