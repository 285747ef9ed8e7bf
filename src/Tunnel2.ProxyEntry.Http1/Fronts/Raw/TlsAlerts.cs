namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <summary>Fatal alerts of TLS (RFC 8446 section 6) in a record of their own, for a visitor whose connection is not opened.</summary>
internal static class TlsAlerts
{
    /// <summary>No tunnel has this name, or the visitor said none.</summary>
    public static ReadOnlyMemory<byte> UnrecognizedName { get; } = Record(112);

    /// <summary>The bytes are not those of a ClientHello.</summary>
    public static ReadOnlyMemory<byte> DecodeError { get; } = Record(50);

    /// <summary>The tunnel is not for visitors from this address.</summary>
    public static ReadOnlyMemory<byte> AccessDenied { get; } = Record(49);

    /// <summary>The tunnel's agent or service is not available.</summary>
    public static ReadOnlyMemory<byte> InternalError { get; } = Record(80);

    private static byte[] Record(byte description) => [21, 3, 3, 0, 2, 2, description];
}
