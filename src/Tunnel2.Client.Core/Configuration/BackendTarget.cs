using System.Globalization;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// The private service that requests are forwarded to. With a <see cref="PathPrefix"/> of <c>/base</c> a request for <c>/a?b</c> goes to
/// <c>/base/a?b</c> and one for <c>/</c> to <c>/base/</c>; a target that is no path (<c>OPTIONS *</c>) is sent as it is, and nothing in the
/// answer is rewritten.
/// </summary>
/// <param name="IsHttps">Whether the agent speaks TLS with the backend.</param>
/// <param name="Host">A DNS name or an IP literal; an IPv6 literal has no brackets.</param>
/// <param name="Port">1–65535.</param>
/// <param name="PathPrefix">Empty, or a path that starts with <c>/</c> and does not end with one.</param>
public sealed record BackendTarget(bool IsHttps, string Host, int Port, string PathPrefix = "")
{
    /// <summary><c>host:port</c> as it belongs into a Host header: without the port when it is the scheme's own (RFC 9110, 7.2).</summary>
    public string HostHeader => Port == (IsHttps ? 443 : 80) ? HostPort.FormatHost(Host) : HostPort.Format(Host, Port);

    /// <summary>
    /// Whether ::1 is tried where nothing listens at 127.0.0.1: the user named only a port, and several development servers listen on the
    /// IPv6 address of "localhost" alone.
    /// </summary>
    internal bool TriesIPv6Loopback { get; init; }

    /// <summary>
    /// Reads <c>3000</c>, <c>:3000</c> (both on 127.0.0.1), <c>host:3000</c>, <c>[::1]:3000</c>, <c>http://host[:port][/base]</c> or
    /// <c>https://…</c>.
    /// </summary>
    /// <returns>Null and a <paramref name="target"/>, or what is wrong.</returns>
    internal static string? TryParse(string text, out BackendTarget? target)
    {
        target = null;
        if (text.Contains("://", StringComparison.Ordinal))
        {
            return TryParseUrl(text, out target);
        }

        string portText = text.StartsWith(':') ? text[1..] : text;
        if (portText.Length > 0 && portText.All(char.IsAsciiDigit))
        {
            if (!HostPort.TryParsePort(portText, out int only))
            {
                return $"'{portText}' is not a port (1 to 65535)";
            }

            target = new BackendTarget(false, "127.0.0.1", only) { TriesIPv6Loopback = true };
            return null;
        }

        string? mistake = HostPort.TrySplit(text, out string host, out int? port);
        if (mistake is not null)
        {
            return mistake;
        }

        if (port is null)
        {
            return $"'{text}' lacks a port; write {HostPort.FormatHost(host)}:3000";
        }

        target = new BackendTarget(false, host, port.Value);
        return null;
    }

    /// <summary>The URL of the backend, such as <c>http://127.0.0.1:3000</c>, without a slash at the end.</summary>
    public override string ToString() =>
        string.Create(CultureInfo.InvariantCulture, $"{(IsHttps ? "https" : "http")}://{HostHeader}{PathPrefix}");

    private static string? TryParseUrl(string text, out BackendTarget? target)
    {
        target = null;
        string scheme = text[..text.IndexOf("://", StringComparison.Ordinal)];
        bool isHttps = scheme.Equals("https", StringComparison.OrdinalIgnoreCase);
        if (!isHttps && !scheme.Equals("http", StringComparison.OrdinalIgnoreCase))
        {
            return $"'{scheme}://' is not http:// or https://";
        }

        // The text is not repeated before it is known to hold no password.
        if (!Uri.TryCreate(text, UriKind.Absolute, out Uri? url) || url.Host.Length == 0 || url.Port is < 1 or > 65535)
        {
            return "is not a URL with a host and a port from 1 to 65535";
        }

        if (url.UserInfo.Length > 0)
        {
            return "a URL with a user or password in it is not supported";
        }

        if (url.Query.Length > 0 || url.Fragment.Length > 0 || text.AsSpan().ContainsAny('?', '#'))
        {
            return $"'{text}' must end with the path; a query or fragment cannot be put before every request";
        }

        target = new BackendTarget(isHttps, url.IdnHost.Trim('[', ']'), url.Port, url.AbsolutePath.TrimEnd('/'));
        return null;
    }
}
