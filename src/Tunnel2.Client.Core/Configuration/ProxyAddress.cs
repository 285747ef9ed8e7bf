using System.Text;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>A proxy through which an agent reaches its server. Immutable.</summary>
/// <param name="Kind">What it speaks.</param>
/// <param name="Host">A DNS name or an IP literal; an IPv6 literal has no brackets.</param>
/// <param name="Port">1–65535.</param>
public sealed record ProxyAddress(ProxyKind Kind, string Host, int Port)
{
    /// <summary>The longest user name and password in bytes of UTF-8 (RFC 1929).</summary>
    private const int LongestSecret = 255;

    private const int HttpPort = 80;
    private const int HttpsPort = 443;
    private const int SocksPort = 1080;

    /// <summary>The user name, or null. Never printed.</summary>
    public string? User { get; init; }

    /// <summary>The password, or null. Never printed.</summary>
    public string? Password { get; init; }

    /// <summary>
    /// With <see cref="ProxyKind.Https"/>: a PEM file of the authorities that may have issued the proxy's certificate; null: those of the
    /// system.
    /// </summary>
    public string? AuthoritiesFile { get; init; }

    /// <summary>Its host and port.</summary>
    internal ServerEndpoint EndPoint => new(Host, Port);

    /// <summary>
    /// Reads <c>http://user:password@host:port</c>, <c>https://…</c>, <c>socks5://…</c> or <c>host:port</c>. User and password may have
    /// escapes (%40).
    /// </summary>
    /// <returns>Null and a <paramref name="proxy"/>, or what is wrong, without user and password.</returns>
    internal static string? TryParse(string text, out ProxyAddress? proxy)
    {
        proxy = null;
        var kind = ProxyKind.Http;
        var rest = text;
        var scheme = text.IndexOf("://", StringComparison.Ordinal);
        if (scheme >= 0)
        {
            rest = text[(scheme + 3)..];
            switch (text[..scheme].ToLowerInvariant())
            {
                case "http":
                    break;
                case "socks5" or "socks5h":
                    kind = ProxyKind.Socks5;
                    break;
                case "https":
                    kind = ProxyKind.Https;
                    break;
                default:
                    return "a proxy is written http://host:port, https://host:port or socks5://host:port, with user:password@ before the "
                        + "host where it asks for them";
            }
        }

        var at = rest.LastIndexOf('@');
        var hostPort = rest[(at + 1)..].TrimEnd('/');
        if (hostPort.Contains('/', StringComparison.Ordinal))
        {
            return "a proxy has no path; write http://host:port (a / in the password is written %2F, an @ %40)";
        }

        if (HostPort.TrySplit(hostPort, out var host, out var port) is { } mistake)
        {
            return at >= 0 || scheme >= 0 ? mistake : $"{mistake}; a proxy is written http://host:port or socks5://host:port";
        }

        proxy = new ProxyAddress(kind, host, port ?? UsualPort(kind));
        if (at < 0)
        {
            return null;
        }

        var colon = rest.IndexOf(':', StringComparison.Ordinal);
        var user = Uri.UnescapeDataString(colon < 0 || colon > at ? rest[..at] : rest[..colon]);
        var password = colon < 0 || colon > at ? "" : Uri.UnescapeDataString(rest[(colon + 1)..at]);
        var hasColon = kind != ProxyKind.Socks5 && user.Contains(':', StringComparison.Ordinal);
        if (!IsGood(user) || !IsGood(password) || user.Length == 0 || hasColon)
        {
            proxy = null;
            return "the user or password of the proxy is not usable: the user may not be empty or contain a colon, none of both may have "
                + "control characters or more than 255 bytes";
        }

        proxy = proxy with { User = user, Password = password };
        return null;
    }

    /// <summary>Such as <c>http://proxy.example.com:3128</c>, without user and password.</summary>
    public override string ToString() => $"{Scheme}://{HostPort.Format(Host, Port)}";

    /// <summary>Such as <c>http</c>.</summary>
    internal string Scheme => Kind switch { ProxyKind.Http => "http", ProxyKind.Https => "https", _ => "socks5" };

    private static int UsualPort(ProxyKind kind) => kind switch
    {
        ProxyKind.Http => HttpPort,
        ProxyKind.Https => HttpsPort,
        _ => SocksPort,
    };

    private static bool IsGood(string secret) => Encoding.UTF8.GetByteCount(secret) <= LongestSecret && !secret.Any(char.IsControl);
}
