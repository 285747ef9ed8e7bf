using System.Collections.Immutable;
using System.Net;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The settings of domains that agents claim. Immutable.</summary>
internal sealed class DomainSettings(SettingsReader read)
{
    private const int UsualPort = 53;

    /// <summary>The name servers that are asked for proofs; empty: the system's.</summary>
    public ImmutableArray<IPEndPoint> Resolvers { get; } = read.List<IPEndPoint>(
        "Domains:Resolvers", "IP addresses, with or without a port",
        "name servers that are asked whether the owner of a [domain](domains.md#proof-by-dns) wants its agent; the first three count",
        ParseResolver, inWords: "those of `/etc/resolv.conf`");

    /// <summary>Whether a page of the domain is a proof too.</summary>
    public HttpProofMode HttpProof { get; } = (HttpProofMode)read.Word(
        "Domains:HttpProof", "off", "a kind of proof",
        "whether a page of a [domain](domains.md#proof-by-http) is a proof too: the server then calls domains that agents name, at port "
        + "80. `public`: those with public addresses; `any`: all, also those of this machine and network",
        "off", "public", "any");

    private static string? ParseResolver(string text, out IPEndPoint value)
    {
        value = new IPEndPoint(IPAddress.Loopback, UsualPort);
        // The parser of endpoints takes "53" for 0.0.0.53.
        var end = text.StartsWith('[') ? text.IndexOf(']') : text.Count(static c => c == ':') == 1 ? text.IndexOf(':') : text.Length;
        if (end < 0 || !IPEndPoint.TryParse(text, out var parsed) || !AddressText.TryReadLocal(text.AsSpan(..end).TrimStart('['), out _))
        {
            return "is not an IP address, with or without a port.";
        }

        value = parsed.Port == 0 ? new IPEndPoint(parsed.Address, UsualPort) : parsed;
        return null;
    }
}
