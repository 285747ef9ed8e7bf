using System.Globalization;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>
/// The URL under which visitors come, where that is not a listener of ProxyEntry: a reverse proxy is in front, or a port is mapped. The
/// host is always that of the name, because it is what leads to the tunnel. Immutable.
/// </summary>
internal sealed class VisitorUrl
{
    /// <summary>What may be written in place of the domain.</summary>
    private const string DomainWord = "{domain}";

    private const string NamePart = "{name}.";
    private const string Forms = "is not http:// or https://, {name}, the domain, and a port where it is not the usual one, such as "
        + "https://{name}.example.com.";

    private readonly string _domain;

    private VisitorUrl(bool isSecure, string domain, int port)
    {
        IsSecure = isSecure;
        Port = port;
        _domain = domain;
    }

    /// <summary>Whether it is one of HTTPS.</summary>
    public bool IsSecure { get; }

    /// <summary>Its port, also where it is the usual one.</summary>
    public int Port { get; }

    /// <summary>The URL of a host, without a slash at the end.</summary>
    public string Of(string host) => (IsSecure, Port) is (true, 443) or (false, 80)
        ? $"{Scheme}{host}"
        : string.Create(CultureInfo.InvariantCulture, $"{Scheme}{host}:{Port}");

    private string Scheme => IsSecure ? "https://" : "http://";

    /// <summary>Reads <c>https://{name}.example.com:8443</c>. Returns the mistake, or null.</summary>
    public static string? Parse(string text, out VisitorUrl? value)
    {
        value = null;
        var url = text.ToLowerInvariant();
        var isSecure = url.StartsWith("https://", StringComparison.Ordinal);
        if (!isSecure && !url.StartsWith("http://", StringComparison.Ordinal))
        {
            return Forms;
        }

        var host = url[(isSecure ? "https://" : "http://").Length..];
        host = host.EndsWith('/') ? host[..^1] : host;
        var port = isSecure ? 443 : 80;
        var colon = host.IndexOf(':', StringComparison.Ordinal);
        if (colon >= 0)
        {
            if (SettingValues.ParseNumber(host[(colon + 1)..], 1, 65_535, out port) is not null)
            {
                return Forms;
            }

            host = host[..colon];
        }

        var domain = host.StartsWith(NamePart, StringComparison.Ordinal) ? host[NamePart.Length..] : "";
        if (domain != DomainWord && (domain.Length == 0 || domain.Any(static c => !char.IsAsciiLetterOrDigit(c) && c is not ('-' or '.'))))
        {
            return Forms;
        }

        value = new VisitorUrl(isSecure, domain, port);
        return null;
    }

    /// <summary>Reports a domain that is not that of the names.</summary>
    public void Check(SettingsReader read, string domain)
    {
        if (_domain != DomainWord && _domain != domain && !read.HasError("Domain"))
        {
            read.Report(
                SettingKeys.VisitorUrl,
                $"has the domain {_domain}, and Tunnel2:Domain is {domain}: the Host that visitors send would lead to no tunnel.");
        }
    }
}
