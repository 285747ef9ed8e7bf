using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Inspection.Heads;

/// <summary>The head of a request, read when it is looked at. Immutable.</summary>
internal sealed record RequestHead
{
    /// <summary>What is shown of a request whose head cannot be read.</summary>
    public static RequestHead Unreadable { get; } = new();

    /// <summary>The method's bytes.</summary>
    public byte[] Method { get; init; } = [];

    /// <summary>The scheme that the visitor used.</summary>
    public byte[] Scheme { get; init; } = [];

    /// <summary>Host and port as the visitor wrote them.</summary>
    public byte[] Authority { get; init; } = [];

    /// <summary>Path and query, byte for byte.</summary>
    public byte[] Target { get; init; } = [];

    /// <summary>Whether the visitor asked for another protocol.</summary>
    public bool Upgrades { get; init; }

    /// <summary>The visitor's version of HTTP.</summary>
    public string Version { get; init; } = "HTTP/1.1";

    /// <summary>The fields in wire order.</summary>
    public IReadOnlyList<HeadField> Fields { get; init; } = [];

    /// <summary>
    /// Whether the visitor used TLS, here or at a trusted proxy. ProxyEntry writes the field itself: no visitor's word is in it.
    /// </summary>
    public bool IsSecure => (Fields.Find("X-Forwarded-Proto"u8)?.Split(',')[0].Trim() ?? HeadText.Of(Scheme))
        .Equals("https", StringComparison.OrdinalIgnoreCase);

    /// <summary>Reads a request block of the wire.</summary>
    public static RequestHead Read(ReadOnlySpan<byte> bytes)
    {
        if (HeaderBlock.TryRead(bytes, out var block) != ProtocolError.None || block.Kind != HeaderBlockKind.Request)
        {
            return Unreadable;
        }

        var fields = new List<HeadField>(block.Fields.Count);
        foreach (var field in block.Fields)
        {
            fields.Add(new HeadField(field.Name.ToArray(), field.Value.ToArray()));
        }

        return new RequestHead
        {
            Method = block.Method.ToArray(),
            Scheme = block.Scheme.ToArray(),
            Authority = block.Authority.ToArray(),
            Target = block.Target.ToArray(),
            Upgrades = (block.Flags & HeaderBlockFlags.Upgrade) != 0,
            Version = (block.Flags & HeaderBlockFlags.Http2) != 0 ? "HTTP/2" : "HTTP/1.1",
            Fields = fields,
        };
    }
}
