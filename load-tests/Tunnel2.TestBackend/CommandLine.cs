using System.Net;

namespace Tunnel2.TestBackend;

/// <summary>The program's arguments.</summary>
internal static class CommandLine
{
    public const string Usage =
        """
        usage: tunnel2-testbackend [--listen HOST:PORT] [--tls | --http2] [--engine portable|event-loop]

          --listen   where to listen (default 127.0.0.1:3000; port 0 takes a free one)
          --tls      https with a certificate made at the start (HTTP/1.1 and HTTP/2)
          --http2    without TLS: HTTP/2 with prior knowledge
          --engine   portable (thread pool, default) or event-loop (inline on one socket thread)
        """;

    /// <summary>Reads the arguments; an error is in <paramref name="error"/>.</summary>
    public static TestBackendOptions? Parse(ReadOnlySpan<string> arguments, out string? error)
    {
        var options = new TestBackendOptions { Listen = new IPEndPoint(IPAddress.Loopback, 3000), TrackRequests = false };
        error = null;
        for (var i = 0; i < arguments.Length; i++)
        {
            switch (arguments[i])
            {
                case "--tls":
                    options = options with { UseTls = true };
                    break;
                case "--http2":
                    options = options with { UseHttp2PriorKnowledge = true };
                    break;
                case "--listen" when i + 1 < arguments.Length && TryParseEndPoint(arguments[i + 1], out var endPoint):
                    options = options with { Listen = endPoint };
                    i++;
                    break;
                case "--engine" when i + 1 < arguments.Length && arguments[i + 1] is "portable" or "event-loop":
                    var engine = arguments[++i] == "event-loop" ? TestBackendEngine.EventLoop : TestBackendEngine.Portable;
                    options = options with { Engine = engine };
                    break;
                case "--help" or "-h":
                    return null;
                default:
                    error = $"Cannot understand '{arguments[i]}'.";
                    return null;
            }
        }

        return options;
    }

    private static bool TryParseEndPoint(string text, out IPEndPoint endPoint)
    {
        var withAddress = text.StartsWith("localhost:", StringComparison.OrdinalIgnoreCase)
            ? "127.0.0.1" + text["localhost".Length..]
            : text;
        return IPEndPoint.TryParse(withAddress, out endPoint!) && withAddress.Contains(':', StringComparison.Ordinal);
    }
}
