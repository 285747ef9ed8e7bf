using System.Net;
using System.Text;
using Microsoft.Net.Http.Headers;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Admin;

/// <summary>
/// Guards the admin listener: against DNS rebinding, with which a web page could reach it under a name of its own, and by bearer token
/// (RFC 6750 section 2.1) if one is configured. A second token opens the metrics alone. Wrong tokens of an address are limited.
/// Thread-safe.
/// </summary>
internal sealed class AdminAuthorization
{
    private const string Scheme = "Bearer ";
    private const int MaxTokenLength = 4096;

    /// <summary>The text for an address that has to wait.</summary>
    public const string TooManyAttempts = "too many wrong tokens from this address; try again later\n";

    /// <summary>The text for a name that others may have pointed here.</summary>
    public const string WrongHost = "use an IP address or localhost as host, or set Tunnel2:Admin:Hosts\n";

    private readonly TokenHash? _token;
    private readonly TokenHash? _metricsToken;
    private readonly FailedAttempts? _attempts;
    private readonly IReadOnlyList<string> _hosts;

    /// <param name="token">The required token, or null for none.</param>
    /// <param name="attempts">How many wrong tokens an address may show; null for any number. Counted apart from those of agents.</param>
    /// <param name="metricsToken">A token that is enough for the metrics, or null for none.</param>
    /// <param name="hosts">Names that requests may be for, beside those of this machine; null for none.</param>
    public AdminAuthorization(
        TokenHash? token, FailedAttempts? attempts = null, TokenHash? metricsToken = null, IReadOnlyList<string>? hosts = null)
    {
        _hosts = hosts ?? [];
        _token = token;
        _attempts = attempts;
        _metricsToken = metricsToken;
    }

    /// <summary>Whether a request is allowed. Tokens are compared in constant time.</summary>
    /// <param name="request">The request.</param>
    /// <param name="otherToken">A token that did not come in the header, or null.</param>
    /// <param name="wait">With <see cref="AdminAccess.TooManyAttempts"/>: how many seconds to wait.</param>
    public AdminAccess Check(HttpRequest request, string? otherToken, out int wait) => Check(request, otherToken, null, out wait);

    /// <summary>Whether a request for the metrics is allowed: their own token is enough, in the header.</summary>
    /// <param name="request">The request.</param>
    /// <param name="wait">With <see cref="AdminAccess.TooManyAttempts"/>: how many seconds to wait.</param>
    public AdminAccess CheckMetrics(HttpRequest request, out int wait) => Check(request, null, _metricsToken, out wait);

    private AdminAccess Check(HttpRequest request, string? otherToken, TokenHash? enough, out int wait)
    {
        wait = 0;

        // First: tokens that a foreign page tries are no attempts of this address.
        if (IsForeign(request))
        {
            return AdminAccess.WrongHost;
        }

        if (_token is null)
        {
            return AdminAccess.Allowed;
        }

        var headerToken = TokenOf(request);
        if (otherToken is null && headerToken is null)
        {
            return AdminAccess.WrongToken;
        }

        var address = request.HttpContext.Connection.RemoteIpAddress;
        if (_attempts is not null && !_attempts.MayTry(address, out var time))
        {
            wait = (int)Math.Ceiling(time.TotalSeconds);
            return AdminAccess.TooManyAttempts;
        }

        // All are compared, so that the time does not show which one it was.
        if (Matches(_token, otherToken) | Matches(_token, headerToken) | (enough is not null && Matches(enough, headerToken)))
        {
            return AdminAccess.Allowed;
        }

        _attempts?.Note(address);
        return AdminAccess.WrongToken;
    }

    /// <summary>Whether a request is for a name that others may have pointed to this address.</summary>
    public bool IsForeign(HttpRequest request) =>
        !IsLocalName(request.Host.Host) && !_hosts.Contains(request.Host.Host, StringComparer.OrdinalIgnoreCase);

    private static bool Matches(TokenHash expected, string? token) =>
        token is { Length: <= MaxTokenLength } && expected.Matches(Encoding.UTF8.GetBytes(token));

    private static string? TokenOf(HttpRequest request)
    {
        string? header = request.Headers[HeaderNames.Authorization];
        return header is not null && header.StartsWith(Scheme, StringComparison.OrdinalIgnoreCase) ? header[Scheme.Length..].Trim() : null;
    }

    private static bool IsLocalName(string host) =>
        host.Equals("localhost", StringComparison.OrdinalIgnoreCase)
        || host.EndsWith(".localhost", StringComparison.OrdinalIgnoreCase)
        || IPAddress.TryParse(host, out _);
}
