using Tunnel2.Http1;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>Recognises the fields by which proxies say who asked.</summary>
internal static class ForwardingNames
{
    private const int LongestName = 17; // X-Forwarded-Proto

    /// <summary>Whether a field says who forwarded what, or could be taken for one that does.</summary>
    /// <param name="known">What the field is.</param>
    /// <param name="name">Its name.</param>
    public static bool IsForwarding(KnownField known, ReadOnlySpan<byte> name) => known switch
    {
        >= KnownField.Forwarded and <= KnownField.XRealIp => true,
        KnownField.None when name.Length <= LongestName && name.Contains((byte)'_') => IsLookalike(name),
        _ => false,
    };

    /// <summary>Backends that turn names into variables cannot tell <c>X_Forwarded_For</c> from the real one.</summary>
    private static bool IsLookalike(ReadOnlySpan<byte> name)
    {
        Span<byte> plain = stackalloc byte[LongestName];
        plain = plain[..name.Length];
        name.Replace(plain, (byte)'_', (byte)'-');
        return KnownFields.Classify(plain) is >= KnownField.Forwarded and <= KnownField.XRealIp;
    }
}
