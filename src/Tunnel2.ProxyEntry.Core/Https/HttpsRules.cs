using System.Globalization;
using System.Text;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Routing;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Https;

/// <summary>
/// Sends visitors without TLS to HTTPS, and asks browsers to remember it (RFC 6797). Only names of tunnels are redirected, to themselves,
/// so a Host of a visitor's choice leads nowhere else. Thread-safe.
/// </summary>
internal sealed class HttpsRules
{
    private const int UsualPort = 443;

    private readonly ProxyEntrySettings _settings;
    private readonly HostAddressParser _hosts;
    private readonly ISessionDirectory? _directory;
    private readonly byte[]? _hsts;
    private volatile string _port = "";

    /// <param name="settings">The settings.</param>
    /// <param name="directory">Knows the domains that agents have claimed; null: there are none.</param>
    public HttpsRules(ProxyEntrySettings settings, ISessionDirectory? directory = null)
    {
        _directory = directory;
        _settings = settings;
        _hosts = new HostAddressParser(settings.Domain, settings.EntryId);
        if (settings.Https.Hsts != Timeout.InfiniteTimeSpan)
        {
            _hsts = Encoding.ASCII.GetBytes(
                string.Create(CultureInfo.InvariantCulture, $"max-age={(long)settings.Https.Hsts.TotalSeconds}"));
        }

        Bound(settings.HttpsListen?.Port ?? UsualPort);
    }

    /// <summary>Whether visitors without TLS are redirected.</summary>
    public bool Redirects => _settings.Https.Redirect is not null;

    /// <summary>The port of the HTTPS listener is known.</summary>
    public void Bound(int listenersPort)
    {
        var port = _settings.Https.Redirect is not HttpsSettings.ListenersPort and { } said ? said
            : _settings.VisitorUrl is { IsSecure: true } url ? url.Port
            : listenersPort;
        _port = port == UsualPort ? "" : string.Create(CultureInfo.InvariantCulture, $":{port}");
    }

    /// <summary>The redirect for a request; null when it is served as it is.</summary>
    public ErrorResponse? FindRedirect(VisitorExchange exchange)
    {
        if (!Redirects || exchange.IsRaw || exchange.IsSecure)
        {
            return null;
        }

        Span<char> name = stackalloc char[PublicName.MaxLength];
        var outcome = exchange.Address.ParseHost(_hosts, name, out _);
        if (outcome != HostAddressOutcome.Name && !(outcome == HostAddressOutcome.NotOurDomain && IsClaimed(exchange.Address)))
        {
            return null;
        }

        var host = exchange.Authority;
        var colon = host.IndexOf(':', StringComparison.Ordinal);
        var target = exchange.Target;
        var path = target.StartsWith('/') ? target : target.StartsWith('?') ? "/" + target : "/";

        // RFC 9110 section 15.4.9: the method stays, so a form that was posted is not lost. Kept for an hour, so that a mistake passes.
        return new ErrorResponse(
            StatusCodes.Status308PermanentRedirect,
            [
                new("Location", $"https://{(colon < 0 ? host : host[..colon])}{_port}{path}"),
                new("Cache-Control", "max-age=3600"),
            ],
            default);
    }

    private bool IsClaimed(in RequestAddress address)
    {
        Span<char> domain = stackalloc char[DomainName.MaxLength];
        return _directory is not null
            && address.TryReadDomain(_hosts, domain, out var length)
            && DomainLookup.Find(_directory, domain[..length], out _, out _) != NameState.Unknown;
    }

    /// <summary>Adds <c>Strict-Transport-Security</c> to an answer of ProxyEntry itself.</summary>
    public void AddTo(VisitorExchange exchange, ForwardedRequest request)
    {
        if (_hsts is { } hsts && !exchange.IsRaw && exchange.IsSecure)
        {
            request.UseExtras(exchange).AddResponseField("Strict-Transport-Security"u8, hsts);
        }
    }

    /// <summary>Adds it to the answer of a service, unless that has one: browsers use the first, and scanners complain of two.</summary>
    public void AddTo(VisitorExchange exchange, ForwardedRequest request, scoped in HeaderBlock head)
    {
        if (_hsts is null || exchange.Extras?.ResponseEdits?.Adds("Strict-Transport-Security"u8) == true)
        {
            return;
        }

        foreach (var field in head.Fields)
        {
            if (Ascii.EqualsIgnoreCase(field.Name, "Strict-Transport-Security"u8))
            {
                return;
            }
        }

        AddTo(exchange, request);
    }
}
