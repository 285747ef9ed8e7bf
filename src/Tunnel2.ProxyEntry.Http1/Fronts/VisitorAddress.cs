using System.Net;
using System.Net.Sockets;

namespace Tunnel2.ProxyEntry.Fronts;

/// <summary>A visitor's address as text, made once per connection. Immutable.</summary>
internal sealed class VisitorAddress
{
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
    public string ForwardedText(string host, string scheme) => $"for={Node};host=\"{host}\";proto={scheme}";
}
