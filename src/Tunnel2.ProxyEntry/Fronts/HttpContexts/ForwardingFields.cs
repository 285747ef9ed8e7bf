using System.Net;
using System.Net.Sockets;
using Microsoft.Extensions.Primitives;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>
/// Says to the backend who asked and how: <c>X-Forwarded-*</c> and <c>Forwarded</c> (RFC 7239). What the visitor wrote is overwritten,
/// unless it is a trusted proxy: then its words are kept and its own address is added.
/// </summary>
internal static class ForwardingFields
{
    public static void Write(ref HeaderBlockWriter writer, IHeaderDictionary headers, VisitorAddress address, string host, string scheme, int port, bool isTrusted)
    {
        if (!isTrusted)
        {
            writer.AddField("X-Forwarded-For", address.Text);
            writer.AddField("X-Forwarded-Host", host);
            writer.AddField("X-Forwarded-Proto", scheme);
            writer.AddField("X-Forwarded-Port", address.PortText(port));
            writer.AddField("Forwarded", address.ForwardedText(host, scheme));
            return;
        }

        var isTold = !StringValues.IsNullOrEmpty(headers["X-Forwarded-Host"]) || !StringValues.IsNullOrEmpty(headers["X-Forwarded-Proto"]);
        var addresses = Append(headers["X-Forwarded-For"], address.Text);
        var visitorHost = Kept(headers["X-Forwarded-Host"], host);
        var visitorScheme = Kept(headers["X-Forwarded-Proto"], scheme);
        writer.AddField("X-Forwarded-For", addresses);
        writer.AddField("X-Forwarded-Host", visitorHost);
        writer.AddField("X-Forwarded-Proto", visitorScheme);
        writer.AddField("X-Forwarded-Port", Kept(headers["X-Forwarded-Port"], isTold ? ProxiedVisitor.Port(visitorHost, visitorScheme) : address.PortText(port)));
        writer.AddField(
            "Forwarded",
            isTold && StringValues.IsNullOrEmpty(headers["Forwarded"])
                ? ProxiedVisitor.Forwarded(addresses, visitorHost, visitorScheme)
                : Append(headers["Forwarded"], address.ForwardedText(host, scheme)));
    }

    private static string Append(StringValues before, string added) => StringValues.IsNullOrEmpty(before) ? added : $"{string.Join(", ", before.ToArray())}, {added}";

    private static string Kept(StringValues before, string own) => StringValues.IsNullOrEmpty(before) ? own : before.ToString();
}

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
        if (!string.Equals(host, _forwardedHost, StringComparison.Ordinal) || !string.Equals(scheme, _forwardedScheme, StringComparison.Ordinal))
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
            _portText = port.ToString(System.Globalization.CultureInfo.InvariantCulture);
            _port = port;
        }

        return _portText;
    }
}
