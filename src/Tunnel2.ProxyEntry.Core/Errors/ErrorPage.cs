using System.Globalization;
using System.Text;
using System.Text.Encodings.Web;

namespace Tunnel2.ProxyEntry.Errors;

/// <summary>
/// Renders an error as one self-contained HTML page: no script, no external resource, light and dark. It shows the request's path through
/// the tunnel and the place where it failed. Other pages of the server look the same.
/// </summary>
internal static class ErrorPage
{
    /// <summary>What the pages may load: nothing but their own style.</summary>
    public const string ContentSecurityPolicy = "default-src 'none'; style-src 'unsafe-inline'";

    private const string Style = """
        :root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--text:#1c2430;--soft:#5b6675;--line:#d9dee6;--ok:#1a7f4b;--bad:#c2332b;--badbg:#fdeceb}
        @media(prefers-color-scheme:dark){:root{--bg:#11151b;--card:#1a2029;--text:#e7ebf1;--soft:#9aa6b6;--line:#323b48;--ok:#4cc38a;--bad:#ff8078;--badbg:#3a2022}}
        *,::before,::after{box-sizing:border-box}
        body{margin:0;min-height:100vh;display:grid;place-items:center;padding:24px;background:var(--bg);color:var(--text);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
        main{width:100%;max-width:600px;padding:32px;background:var(--card);border:1px solid var(--line);border-radius:14px}
        .status{margin:0;color:var(--soft);font-size:14px;letter-spacing:.02em}
        h1{margin:4px 0 12px;font-size:26px;line-height:1.25}
        p{margin:0 0 12px}
        a{color:inherit}
        ol{display:flex;margin:28px 0;padding:0;list-style:none;font-size:13px;text-align:center}
        li{flex:1;position:relative;color:var(--soft)}
        li::before{content:"";display:block;width:14px;height:14px;margin:0 auto 8px;position:relative;z-index:1;border:2px solid var(--line);border-radius:50%;background:var(--card)}
        li+li::after{content:"";position:absolute;top:6px;right:50%;width:100%;border-top:2px solid var(--line)}
        li.ok{color:var(--text)}
        li.ok::before,li.ok+li.ok::after{border-color:var(--ok)}
        li.ok::before{background:var(--ok)}
        li.bad{color:var(--bad);font-weight:600}
        li.bad::before{border-color:var(--bad);background:var(--bad);box-shadow:0 0 0 5px var(--badbg)}
        li.bad::after{border-top-style:dashed;border-color:var(--bad)}
        footer{margin-top:24px;padding-top:14px;border-top:1px solid var(--line);color:var(--soft);font-size:13px;overflow-wrap:anywhere}
        code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
        """;

    private static readonly (ProxyErrorLeg Leg, string Label)[] _way =
    [
        (ProxyErrorLeg.Visitor, "Your request"),
        (ProxyErrorLeg.Entry, "Tunnel server"),
        (ProxyErrorLeg.Uplink, "Agent"),
        (ProxyErrorLeg.Backend, "Service"),
    ];

    /// <summary>The page in UTF-8. Every inserted value is HTML-escaped.</summary>
    public static byte[] Render(ProxyErrorInfo info, in ErrorDetails details)
    {
        var html = new StringBuilder(4096);
        AppendHead(html, info.Title);
        html.Append(CultureInfo.InvariantCulture, $"<p class=\"status\">Error {info.Status}</p>\n");
        AppendWords(html, info.Title, info.Detail);
        AppendWay(html, info.Leg);
        html.Append("<footer>Tunnel2 &middot; <code>").Append(Escape(info.Code)).Append("</code>");
        AppendFact(html, details.Address);
        AppendFact(html, details.RequestId);
        AppendFact(html, details.Node is { } node ? "node " + node : null);
        html.Append("</footer>\n</main>\n</body>\n</html>\n");
        return Encoding.UTF8.GetBytes(html.ToString());
    }

    /// <summary>A page that is about no failed request, with a link that leads on, in UTF-8.</summary>
    /// <param name="title">Its title.</param>
    /// <param name="text">A sentence or two.</param>
    /// <param name="target">Where the link leads, on the same host.</param>
    /// <param name="label">The link's words.</param>
    public static byte[] Render(string title, string text, string target, string label)
    {
        var html = new StringBuilder(4096);
        AppendHead(html, title);
        AppendWords(html, title, text);
        html.Append("<p><a href=\"").Append(Escape(target)).Append("\">").Append(Escape(label)).Append("</a></p>\n");
        html.Append("<footer>Tunnel2</footer>\n</main>\n</body>\n</html>\n");
        return Encoding.UTF8.GetBytes(html.ToString());
    }

    private static void AppendHead(StringBuilder html, string title)
    {
        html.Append("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        html.Append(
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"robots\" content=\"noindex\">\n");
        html.Append("<title>")
            .Append(Escape(title))
            .Append("</title>\n<style>\n")
            .Append(Style)
            .Append("\n</style>\n</head>\n<body>\n<main>\n");
    }

    private static void AppendWords(StringBuilder html, string title, string text)
    {
        html.Append("<h1>").Append(Escape(title)).Append("</h1>\n");
        html.Append("<p>").Append(Escape(text)).Append("</p>\n");
    }

    private static void AppendWay(StringBuilder html, ProxyErrorLeg failed)
    {
        html.Append("<ol aria-label=\"Where it failed\">\n");
        foreach (var (leg, label) in _way)
        {
            html.Append(leg < failed ? "<li class=\"ok\">" : leg == failed ? "<li class=\"bad\" aria-current=\"step\">" : "<li>");
            html.Append(label).Append("</li>\n");
        }

        html.Append("</ol>\n");
    }

    private static void AppendFact(StringBuilder html, string? value)
    {
        if (value is not null)
        {
            html.Append(" &middot; <code>").Append(Escape(ErrorResponses.Cut(value))).Append("</code>");
        }
    }

    private static string Escape(string value) => HtmlEncoder.Default.Encode(value);
}
