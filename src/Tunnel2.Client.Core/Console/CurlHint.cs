using System.Globalization;
using System.Net;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Console;

/// <summary>
/// Makes the curl command that reaches a public URL whose host name has no address here: one that works, so plain HTTP where the server has
/// it, no check of a certificate that no public authority can have issued, and no host that only a container knows. Immutable.
/// </summary>
internal sealed class CurlHint
{
    private readonly ServerEndpoint _server;
    private readonly bool _isPinned;
    private readonly bool _isInContainer;
    private readonly bool _isForCurl;

    /// <param name="server">The server's uplink address, where its public ports usually are too.</param>
    /// <param name="tls">How the agent trusts the server: by a fingerprint or an authority of its own where the certificate is
    /// private.</param>
    /// <param name="access">Who may visit, as the agent asks for it.</param>
    /// <param name="isInContainer">Whether this process is in a container; null: found out.</param>
    public CurlHint(ServerEndpoint server, TlsOptions? tls = null, AccessRules? access = null, bool? isInContainer = null)
    {
        _server = server;
        _isPinned = tls is { ServerFingerprints.Count: > 0 } or { ServerCaFile: not null };
        _isForCurl = access is not ({ Gate: not null } or { ClientAuthorities.Count: > 0 });
        _isInContainer = isInContainer ?? IsContainer();
    }

    /// <summary>
    /// The command; null when no URL is http(s), visitors sign in or show a certificate, or nothing that would work is known.
    /// </summary>
    /// <param name="publicUrls">As the server gave them.</param>
    public string? For(IReadOnlyList<string> publicUrls)
    {
        if (!_isForCurl)
        {
            return null;
        }

        Uri? https = null;
        foreach (string text in publicUrls)
        {
            // A server's word that goes into a shell: a plain host and nothing that could be more.
            if (!Uri.TryCreate(text, UriKind.Absolute, out Uri? url)
                || url.UserInfo.Length > 0
                || Uri.CheckHostName(url.DnsSafeHost) == UriHostNameType.Unknown)
            {
                continue;
            }

            if (url.Scheme == Uri.UriSchemeHttp)
            {
                return HostFor(url) is { } host
                    ? $"curl -H 'Host: {url.Host}' "
                        + $"http://{(url.IsDefaultPort ? HostPort.FormatHost(host) : HostPort.Format(host, url.Port))}/"
                    : null;
            }

            https ??= url.Scheme == Uri.UriSchemeHttps ? url : null;
        }

        // Over TLS a Host header is not enough: the name must also be in the handshake (SNI).
        return https is not null && HostFor(https) is { } server
            ? string.Create(
                CultureInfo.InvariantCulture,
                $"curl {(_isPinned || IsLocalhost(https) ? "-k " : "")}--connect-to "
                    + $"{https.Host}:{https.Port}:{HostPort.Format(server, https.Port)} {https.GetLeftPart(UriPartial.Authority)}/")
            : null;
    }

    /// <summary>
    /// Where curl connects. The name of a neighbour container means nothing where a person types the command: there, names below localhost
    /// lead to the published port of that machine, and of others only their own address would do.
    /// </summary>
    private string? HostFor(Uri url) =>
        !_isInContainer
            || _server.Host == "localhost"
            || IPAddress.TryParse(_server.Host, out _)
            || _server.Host.Contains('.', StringComparison.Ordinal)
            ? _server.Host
        : IsLocalhost(url) ? "127.0.0.1"
        : null;

    private static bool IsLocalhost(Uri url) => url.Host.EndsWith(".localhost", StringComparison.OrdinalIgnoreCase);

    private static bool IsContainer() =>
        Environment.GetEnvironmentVariable("DOTNET_RUNNING_IN_CONTAINER") is "true" or "1"
            || File.Exists("/.dockerenv")
            || File.Exists("/run/.containerenv");
}
