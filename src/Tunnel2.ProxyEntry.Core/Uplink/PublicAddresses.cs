using System.Net;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>The URLs under which a name is public. The ports are known once the listeners are bound. Thread-safe.</summary>
internal sealed class PublicAddresses
{
    private readonly ProxyEntrySettings _settings;
    private IPEndPoint? _http;
    private IPEndPoint? _https;
    private IPEndPoint? _tls;

    public PublicAddresses(ProxyEntrySettings settings)
    {
        _settings = settings;
        _http = settings.HttpListen;
        _https = settings.HttpsListen;
        _tls = settings.TlsListen;
    }

    /// <summary>The listener without TLS, or null.</summary>
    public IPEndPoint? Http => _http;

    /// <summary>The listener with TLS, or null.</summary>
    public IPEndPoint? Https => _https;

    /// <summary>Replaces the configured end points with the bound ones.</summary>
    public void Bound(IPEndPoint? http, IPEndPoint? https, IPEndPoint? tls = null)
    {
        _http = http;
        _https = https;
        _tls = tls;
    }

    /// <summary>All URLs of a session, the one to show first.</summary>
    public IReadOnlyList<string> Of(EntrySession session) => session.Kind switch
    {
        SessionKind.Tcp => [$"tcp://{HostOf(session)}:{session.Lease?.Port}"],
        SessionKind.Udp => [$"udp://{HostOf(session)}:{session.Lease?.Port}"],
        SessionKind.Tls => [$"tls://{HostOf(session.Name)}:{(_tls ?? _https)?.Port}"],
        _ => All(session.Name),
    };

    /// <summary>The URL to show: https if there is one.</summary>
    public string Main(string name) => All(name)[0];

    /// <summary>All URLs, the one to show first. A setting that says how visitors come takes the place of the listeners.</summary>
    public IReadOnlyList<string> All(string name)
    {
        if (_settings.VisitorUrl is { } visitors)
        {
            return [visitors.Of(HostOf(name))];
        }

        var urls = new List<string>(2);
        if (_https is { } https)
        {
            urls.Add(Format("https", name, https.Port, 443));
        }

        if (_http is { } http)
        {
            urls.Add(Format("http", name, http.Port, 80));
        }

        return urls;
    }

    /// <summary>
    /// The host of a port. Names below localhost lead to this machine in browsers and curl, but not in every program that speaks TCP.
    /// </summary>
    private string HostOf(EntrySession session) =>
        _settings.Domain == "localhost" || _settings.Domain.EndsWith(".localhost", StringComparison.Ordinal)
            ? "localhost"
            : $"{session.Name}.{_settings.Domain}";

    private string Format(string scheme, string name, int port, int usual) =>
        $"{scheme}://{HostOf(name)}{(port == usual ? "" : $":{port}")}";

    private string HostOf(string name) => DomainName.IsMeant(name) ? name : $"{name}.{_settings.Domain}";
}
