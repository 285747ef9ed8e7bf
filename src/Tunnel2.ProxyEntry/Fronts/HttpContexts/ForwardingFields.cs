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
