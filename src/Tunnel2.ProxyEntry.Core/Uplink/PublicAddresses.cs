using System.Net;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>The URLs under which a name is public. The ports are known once the listeners are bound. Thread-safe.</summary>
internal sealed class PublicAddresses
{
    private readonly ProxyEntrySettings _settings;
    private IPEndPoint? _http;
    private IPEndPoint? _https;

    public PublicAddresses(ProxyEntrySettings settings)
    {
        _settings = settings;
        _http = settings.HttpListen;
        _https = settings.HttpsListen;
    }

    /// <summary>Replaces the configured end points with the bound ones.</summary>
    public void Bound(IPEndPoint? http, IPEndPoint? https)
    {
        _http = http;
        _https = https;
    }

    /// <summary>The URL to show: https if there is one.</summary>
    public string Main(string name) => All(name)[0];

    /// <summary>All URLs, the one to show first.</summary>
    public IReadOnlyList<string> All(string name)
    {
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

    private string Format(string scheme, string name, int port, int usual) =>
        $"{scheme}://{name}.{_settings.Domain}{(port == usual ? "" : $":{port}")}";
}
