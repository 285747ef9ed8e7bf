namespace Tunnel2.Protocol.Handshake;

/// <summary>A further node of a cluster, to which an agent may connect too. Immutable.</summary>
/// <param name="Node">Its id.</param>
/// <param name="Host">A DNS name or an IP literal without brackets.</param>
/// <param name="Port">The port of its uplink listener, 1–65535.</param>
/// <param name="Zone">What may fail together has one zone; empty: not known.</param>
public sealed record AnnouncedNode(string Node, string Host, int Port, string Zone)
{
    /// <summary>The longest id of a node or name of a zone.</summary>
    public const int MaxTextLength = 64;

    /// <summary>The longest host.</summary>
    public const int MaxHostLength = 253;

    /// <summary>Whether an agent may use it: everything has its length and its characters.</summary>
    public bool IsValid => Node.Length > 0 && IsText(Node) && IsText(Zone) && Port is > 0 and <= ushort.MaxValue && IsHost(Host);

    /// <summary>Whether it can be the id of a node, or a zone.</summary>
    /// <param name="text">The text; may be empty.</param>
    public static bool IsText(string text) =>
        text.Length <= MaxTextLength && text.All(static c => char.IsAsciiLetterOrDigit(c) || c is '-' or '_' or '.' or '~');

    /// <summary>Whether it can be a host: a name or an address, and nothing that a URL, a proxy or a log would read otherwise.</summary>
    /// <param name="host">The host.</param>
    public static bool IsHost(string host) =>
        host.Length is > 0 and <= MaxHostLength
        && host.All(static c => char.IsAsciiLetterOrDigit(c) || c is '-' or '.' or ':')
        && Uri.CheckHostName(host) is UriHostNameType.Dns or UriHostNameType.IPv4 or UriHostNameType.IPv6;
}
