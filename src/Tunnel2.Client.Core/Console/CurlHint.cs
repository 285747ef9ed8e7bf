using System.Globalization;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Core.Console;

/// <summary>Makes the curl command that reaches a public URL whose host name has no address here, by connecting to the server's host.</summary>
internal static class CurlHint
{
    /// <summary>The command, or null when <paramref name="publicUrl"/> is no http(s) URL.</summary>
    public static string? For(string publicUrl, ServerEndpoint server)
    {
        if (!Uri.TryCreate(publicUrl, UriKind.Absolute, out Uri? url))
        {
            return null;
        }

        if (url.Scheme == Uri.UriSchemeHttp)
        {
            string authority = url.IsDefaultPort ? HostPort.FormatHost(server.Host) : HostPort.Format(server.Host, url.Port);
            return $"curl -H 'Host: {url.Host}' http://{authority}/";
        }

        // Over TLS a Host header is not enough: the name must also be in the handshake (SNI).
        return url.Scheme == Uri.UriSchemeHttps
            ? string.Create(
                CultureInfo.InvariantCulture,
                $"curl --connect-to {url.Host}:{url.Port}:{HostPort.Format(server.Host, url.Port)} {url.GetLeftPart(UriPartial.Authority)}/")
            : null;
    }
}
