using System.Net;
using System.Text;
using Microsoft.Net.Http.Headers;
using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Admin;

/// <summary>
/// Guards the admin listener: by bearer token (RFC 6750 section 2.1) if one is configured, otherwise against DNS rebinding, with which a
/// web page could reach a listener on loopback under its own name. Immutable, so safe for any number of threads.
/// </summary>
internal sealed class AdminAuthorization
{
    private const string Scheme = "Bearer ";
    private const int MaxTokenLength = 4096;

    private readonly TokenHash? _token;

    /// <param name="token">The required token, or null for none.</param>
    public AdminAuthorization(TokenHash? token) => _token = token;

    /// <summary>Whether a request is allowed. The token is compared in constant time.</summary>
    /// <param name="request">The request.</param>
    /// <param name="otherToken">A token that did not come in the header, or null.</param>
    public AdminAccess Check(HttpRequest request, string? otherToken = null)
    {
        if (_token is null)
        {
            return IsLocalName(request.Host.Host) ? AdminAccess.Allowed : AdminAccess.WrongHost;
        }

        if (otherToken is { Length: <= MaxTokenLength } && _token.Matches(Encoding.UTF8.GetBytes(otherToken)))
        {
            return AdminAccess.Allowed;
        }

        string? header = request.Headers[HeaderNames.Authorization];
        return header is { Length: <= MaxTokenLength }
            && header.StartsWith(Scheme, StringComparison.OrdinalIgnoreCase)
            && _token.Matches(Encoding.UTF8.GetBytes(header[Scheme.Length..].Trim()))
            ? AdminAccess.Allowed
            : AdminAccess.WrongToken;
    }

    private static bool IsLocalName(string host) =>
        host.Equals("localhost", StringComparison.OrdinalIgnoreCase)
        || host.EndsWith(".localhost", StringComparison.OrdinalIgnoreCase)
        || IPAddress.TryParse(host, out _);
}
