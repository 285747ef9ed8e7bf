using System.Globalization;
using System.Text;

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
    public string HostHeader => HostPort.FormatField(Host, Port, UsualPort);

    private int UsualPort => IsHttps ? 443 : 80;

    private string Authority => Port == UsualPort ? HostPort.FormatHost(Host) : HostPort.Format(Host, Port);

    private const string PipeScheme = "npipe:";

    /// <summary>Bytes of a Unix socket's path, at most, on Linux; other systems take a few less.</summary>
    private const int LongestPath = 107;

    /// <summary>The path of the Unix socket on which the service listens; null: it listens at host and port.</summary>
    public string? SocketPath { get; init; }

    /// <summary>Characters of a pipe's name, at most: 256 with what Windows puts before it.</summary>
    private const int LongestPipeName = 247;

    /// <summary>The named pipe of this machine on which the service listens; null: it listens elsewhere.</summary>
    public string? PipeName { get; init; }

    /// <summary>Whether the agent passes connections on as they are, without HTTP.</summary>
    public bool IsRaw { get; init; }

    /// <summary>Whether the service takes datagrams of UDP.</summary>
    public bool IsDatagram { get; init; }

    /// <summary>
    /// Whether ::1 is tried where nothing listens at 127.0.0.1: the user named only a port, and several development servers listen on the
    /// IPv6 address of "localhost" alone.
    /// </summary>
    internal bool TriesIPv6Loopback { get; init; }

    /// <summary>The service itself, where it is in the agent's process; null: it is reached by a socket or a pipe.</summary>
    internal IServiceInProcess? InProcess { get; init; }

    /// <summary>What is shown to people and programs instead of the address; null: the address.</summary>
    internal string? Shown { get; init; }

    /// <summary>Whether the user has said by the scheme <c>h2c</c> that the service speaks HTTP/2 without TLS.</summary>
    public bool IsHttp2 { get; init; }

    /// <summary>
    /// Reads <c>3000</c>, <c>:3000</c> (both on 127.0.0.1), <c>host:3000</c>, <c>[::1]:3000</c>, <c>http://host[:port][/base]</c>,
    /// <c>https://…</c> or <c>h2c://…</c>, the path of a Unix socket as in <c>unix:/run/app.sock</c>,
    /// or a named pipe as in <c>npipe:app</c>.
    /// </summary>
    /// <returns>Null and a <paramref name="target"/>, or what is wrong.</returns>
    internal static string? TryParse(string text, out BackendTarget? target)
    {
        target = null;
        if (text.StartsWith("unix:", StringComparison.OrdinalIgnoreCase))
        {
            return TryParseSocket(text["unix:".Length..], out target);
        }

        if (text.StartsWith(PipeScheme, StringComparison.OrdinalIgnoreCase))
        {
            return TryParsePipe(text[PipeScheme.Length..], out target);
        }

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

    /// <summary>
    /// Reads the service of a tunnel without HTTP: a port, <c>host:port</c>, either after <c>tcp://</c>, <c>tls://</c> or <c>udp://</c>, or
    /// <c>unix:/path</c> or <c>npipe:name</c>, but these not for datagrams.
    /// </summary>
    /// <returns>Null and a <paramref name="target"/>, or what is wrong.</returns>
    internal static string? TryParseRaw(string text, out BackendTarget? target, bool isDatagram = false)
    {
        target = null;
        bool hasScheme = text.StartsWith("tcp://", StringComparison.OrdinalIgnoreCase)
            || text.StartsWith("tls://", StringComparison.OrdinalIgnoreCase)
            || text.StartsWith("udp://", StringComparison.OrdinalIgnoreCase);
        string rest = hasScheme ? text["tcp://".Length..] : text;
        if (rest.Contains("://", StringComparison.Ordinal)
            && !rest.StartsWith("unix:", StringComparison.OrdinalIgnoreCase)
            && !rest.StartsWith(PipeScheme, StringComparison.OrdinalIgnoreCase))
        {
            return $"'{rest[..(rest.IndexOf("://", StringComparison.Ordinal) + 3)]}' does not belong here; give a port or host:port";
        }

        string? mistake = TryParse(rest, out target);
        if (isDatagram && target is { SocketPath: not null } or { PipeName: not null })
        {
            target = null;
            return "is not a port or host:port, which datagrams need";
        }

        target = target is null ? null : target with { IsRaw = true, IsDatagram = isDatagram };
        return mistake;
    }

    /// <summary>
    /// The URL of the backend, such as <c>http://127.0.0.1:3000</c>, without a slash at the end; or <c>tcp://host:port</c>, or
    /// <c>unix:/path</c>, or <c>npipe:name</c>.
    /// </summary>
    public override string ToString() => Shown is not null ? Shown
        : SocketPath is not null ? $"unix:{SocketPath}"
        : PipeName is not null ? PipeScheme + PipeName
        : IsRaw ? $"{(IsDatagram ? "udp" : "tcp")}://{HostPort.Format(Host, Port)}"
        : string.Create(CultureInfo.InvariantCulture, $"{(IsHttps ? "https" : IsHttp2 ? "h2c" : "http")}://{Authority}{PathPrefix}");

    private static string? TryParseSocket(string text, out BackendTarget? target)
    {
        target = null;
        string path = text.StartsWith("//", StringComparison.Ordinal) ? text[2..] : text;
        if (!Path.IsPathFullyQualified(path))
        {
            return "is not the full path of a socket, as in unix:/run/app.sock";
        }

        if (Encoding.UTF8.GetByteCount(path) > LongestPath || path.Contains('\0', StringComparison.Ordinal))
        {
            return $"is a path that no socket can have: it has more than {LongestPath} bytes, or a zero";
        }

        target = new BackendTarget(false, "localhost", 80) { SocketPath = path };
        return null;
    }

    /// <summary>Reads a name, or the path of a pipe of this machine with slashes of either kind: <c>//./pipe/name</c>.</summary>
    private static string? TryParsePipe(string text, out BackendTarget? target)
    {
        target = null;
        string path = text.Replace('\\', '/');
        string name = path;
        if (path.StartsWith("//", StringComparison.Ordinal))
        {
            // Also with two slashes more, as in a URL.
            path = path.StartsWith("////", StringComparison.Ordinal) ? path[2..] : path;
            const string Own = "//./pipe/";
            if (!path.StartsWith(Own, StringComparison.OrdinalIgnoreCase))
            {
                return @"is not a pipe of this machine, as in npipe:app or npipe:\\.\pipe\app";
            }

            name = path[Own.Length..];
        }

        if (name.Length is 0 or > LongestPipeName
            || name.Contains('/', StringComparison.Ordinal)
            || name.Any(char.IsControl)
            || name is "." or ".."
            || name.Equals("anonymous", StringComparison.OrdinalIgnoreCase))
        {
            return $"is not a name that a pipe can have: 1 to {LongestPipeName} characters without slashes";
        }

        target = new BackendTarget(false, "localhost", 80) { PipeName = name };
        return null;
    }

    private static string? TryParseUrl(string text, out BackendTarget? target)
    {
        target = null;
        string scheme = text[..text.IndexOf("://", StringComparison.Ordinal)];
        bool isHttps = scheme.Equals("https", StringComparison.OrdinalIgnoreCase);
        bool isHttp2 = scheme.Equals("h2c", StringComparison.OrdinalIgnoreCase);
        if (!isHttps && !isHttp2 && !scheme.Equals("http", StringComparison.OrdinalIgnoreCase))
        {
            return $"'{scheme}://' is not http://, https:// or h2c://"
                + (scheme.Equals("file", StringComparison.OrdinalIgnoreCase) ? "; 'tunnel2 file DIR' serves a folder" : "");
        }

        if (isHttp2)
        {
            // In all else it is http: also the port where none is given.
            text = "http" + text[scheme.Length..];
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

        target = new BackendTarget(isHttps, url.IdnHost.Trim('[', ']'), url.Port, url.AbsolutePath.TrimEnd('/')) { IsHttp2 = isHttp2 };
        return null;
    }
}
