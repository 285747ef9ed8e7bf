using System.Net;

namespace Tunnel2.Inspection.Serving;

/// <summary>
/// Decides which requests a browser may have sent here. A web page of others can point a name of its own at this address (DNS rebinding):
/// so the Host has to be one of a list. It can also send requests here from a visitor's browser: so what changes state needs this
/// listener's own Origin. Immutable.
/// </summary>
internal sealed class RequestGuard
{
    private static readonly string[] _loopback = ["127.0.0.1", "localhost", "[::1]"];

    private readonly HashSet<string> _hosts;
    private readonly bool _allowsAddresses;

    /// <param name="port">The listener's port.</param>
    /// <param name="further">Hosts that the user allows beside those of loopback, with or without a port.</param>
    /// <param name="allowsAddresses">
    /// Whether any IP address is allowed, as it has to be off loopback: a page that abuses a name has a name.
    /// </param>
    public RequestGuard(int port, IEnumerable<string> further, bool allowsAddresses = false)
    {
        _allowsAddresses = allowsAddresses;
        var names = _loopback.Concat(further).ToArray();
        var withPort = names.Where(static name => !HasPort(name)).Select(name => FormattableString.Invariant($"{name}:{port}"));
        var asGiven = names.Where(name => HasPort(name) || port == 80);
        _hosts = new HashSet<string>(withPort.Concat(asGiven), StringComparer.OrdinalIgnoreCase);
    }

    /// <summary>Checks a request.</summary>
    /// <param name="method">Its method.</param>
    /// <param name="host">Its Host.</param>
    /// <param name="origin">Its Origin, or null.</param>
    /// <param name="fetchSite">Its Sec-Fetch-Site, or null.</param>
    /// <param name="isPage">Whether it is for the page itself, to which other pages may link.</param>
    /// <returns>Null, or why it is refused.</returns>
    public string? Check(string method, string? host, string? origin, string? fetchSite, bool isPage)
    {
        if (host is null || !(_hosts.Contains(host) || (_allowsAddresses && IPEndPoint.TryParse(host, out _))))
        {
            return "This name is not one of this listener's: use 127.0.0.1, localhost or [::1] with its port, or name it in "
                + "--inspect-hosts.";
        }

        // A page of another origin has no business here, not even where it could not read the answer.
        if (origin is not null && !IsOwn(origin, host))
        {
            return "A page of another origin may not do this.";
        }

        if (fetchSite is not null && fetchSite is not ("same-origin" or "none") && !(isPage && method is ("GET" or "HEAD")))
        {
            return "A page of another site may not do this.";
        }

        return null;
    }

    private static bool IsOwn(string origin, string host) =>
        origin.Equals("http://" + host, StringComparison.OrdinalIgnoreCase)
        || origin.Equals("https://" + host, StringComparison.OrdinalIgnoreCase);

    private static bool HasPort(string name) => name.LastIndexOf(':') > name.LastIndexOf(']');
}
