using System.Net;
using System.Net.Sockets;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Fronts;

/// <summary>A visitor's address as text, made once per connection. Immutable.</summary>
internal sealed class VisitorAddress
{
    public VisitorAddress(IPAddress? address)
    {
        var plain = PlainAddress.Of(address);
        Address = plain;
        Text = plain?.ToString() ?? "unknown";
        Node = plain is null ? "unknown" : plain.AddressFamily == AddressFamily.InterNetworkV6 ? $"\"[{Text}]\"" : Text;
    }

    public IPAddress? Address { get; }

    /// <summary>The form in <c>X-Forwarded-For</c>.</summary>
    public string Text { get; }

    /// <summary>The form in <c>Forwarded</c> (RFC 7239 section 6).</summary>
    public string Node { get; }

    /// <summary>
    /// An element of <c>Forwarded</c>. A host has no character that a quoted string must escape. It is quoted because a port brings a
    /// colon.
    /// </summary>
    public string ForwardedText(string host, string scheme) => $"for={Node};host=\"{host}\";proto={scheme}";
}
