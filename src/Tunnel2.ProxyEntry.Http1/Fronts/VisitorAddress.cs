using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace Tunnel2.ProxyEntry.Fronts;

/// <summary>A visitor's address as text, made once per connection; used by one request at a time.</summary>
internal sealed class VisitorAddress
{
    private string _portText = "";
    private int _port = -1;
    private string _forwarded = "";
    private string? _forwardedHost;
    private string? _forwardedScheme;

    public VisitorAddress(IPAddress? address)
    {
        var plain = address is { IsIPv4MappedToIPv6: true } ? address.MapToIPv4() : address;
        Address = plain;
        Text = plain?.ToString() ?? "unknown";
        Node = plain is null ? "unknown" : plain.AddressFamily == AddressFamily.InterNetworkV6 ? $"\"[{Text}]\"" : Text;
    }

    public IPAddress? Address { get; }

    /// <summary>As <c>X-Forwarded-For</c> has it.</summary>
    public string Text { get; }

    /// <summary>As <c>Forwarded</c> has it (RFC 7239 section 6).</summary>
    public string Node { get; }

    /// <summary>
    /// An element of <c>Forwarded</c>. A host has none of the characters that a quoted string must escape; the port's colon is what makes
    /// it need the quotes.
    /// </summary>
    public string ForwardedText(string host, string scheme)
    {
        if (!string.Equals(host, _forwardedHost, StringComparison.Ordinal)
            || !string.Equals(scheme, _forwardedScheme, StringComparison.Ordinal))
        {
            _forwarded = $"for={Node};host=\"{host}\";proto={scheme}";
            _forwardedHost = host;
            _forwardedScheme = scheme;
        }

        return _forwarded;
    }

    public string PortText(int port)
    {
        if (port != _port)
        {
            _portText = port.ToString(CultureInfo.InvariantCulture);
            _port = port;
        }

        return _portText;
    }
}
