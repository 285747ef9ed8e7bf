using System.Text;
using System.Text.Encodings.Web;

namespace Tunnel2.Quickstart.Sample;

/// <summary>Shows a request as it arrived at the service, as text and as a page without external resources.</summary>
internal static class SamplePage
{
    /// <summary>The page may run its own script and call its own origin, nothing else.</summary>
    public const string ContentSecurityPolicy =
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action "
            + "'none'";

    private const string Head =
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Through the tunnel</title>
        <style>
        :root { color-scheme: light dark; }
        body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 3rem auto; padding: 0 1rem; }
        h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
        table { border-collapse: collapse; width: 100%; font: 14px/1.5 ui-monospace, monospace; }
        td { border-top: 1px solid #8884; padding: .25rem .5rem; vertical-align: top; overflow-wrap: anywhere; }
        td:first-child { white-space: nowrap; opacity: .7; }
        output { font: 1.25rem ui-monospace, monospace; }
        input, button { font: inherit; padding: .25rem .5rem; }
        </style>
        </head>
        <body>
        <h1>This answer came through the tunnel</h1>
        <p>A sample service in the quick start's process wrote it. This is the request as it arrived here:</p>
        <table>

        """;

    private const string Tail =
        """
        </table>
        <h2>A clock, as server-sent events</h2>
        <p><output id="clock">…</output> <code>/events</code></p>
        <h2>An echo</h2>
        <form id="form"><input id="text" value="hello" aria-label="What to send"> <button>Send</button> <output id="echo"></output></form>
        <script>
        const at = id => document.getElementById(id);
        new EventSource('/events').onmessage = event => { at('clock').textContent = event.data; };
        at('form').onsubmit = async event => {
          event.preventDefault();
          const started = performance.now();
          const answer = await fetch('/echo', { method: 'POST', body: at('text').value });
          at('echo').textContent = `${await answer.text()} (${(performance.now() - started).toFixed(1)} ms)`;
        };
        </script>
        </body>
        </html>

        """;

    public static string AsText(HttpRequest request)
    {
        var text = new StringBuilder("This answer came through the tunnel. The request as it arrived at the service:\n\n");
        text.Append(RequestLine(request)).Append('\n');
        foreach (var (name, value) in Fields(request))
        {
            text.Append(name).Append(": ").Append(value).Append('\n');
        }

        return text.ToString();
    }

    public static string AsHtml(HttpRequest request)
    {
        var html = new StringBuilder(Head);
        AppendRow(html, "", RequestLine(request));
        foreach (var (name, value) in Fields(request))
        {
            AppendRow(html, name, value);
        }

        return html.Append(Tail).ToString();
    }

    private static string RequestLine(HttpRequest request) => $"{request.Method} {request.Path}{request.QueryString} {request.Protocol}";

    private static IEnumerable<(string Name, string Value)> Fields(HttpRequest request) =>
        request.Headers.SelectMany(static field => field.Value, static (field, value) => (field.Key, value ?? ""));

    private static void AppendRow(StringBuilder html, string name, string value) =>
        html.Append("<tr><td>")
            .Append(HtmlEncoder.Default.Encode(name))
            .Append("</td><td>")
            .Append(HtmlEncoder.Default.Encode(value))
            .Append("</td></tr>\n");
}
