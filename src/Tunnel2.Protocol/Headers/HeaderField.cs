namespace Tunnel2.Protocol.Headers;

/// <summary>A field of a header block: views into the block's bytes.</summary>
/// <param name="name">The name.</param>
/// <param name="value">The value.</param>
public readonly ref struct HeaderField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
{
    /// <summary>The name, with the case it was sent with.</summary>
    public ReadOnlySpan<byte> Name { get; } = name;

    /// <summary>The value.</summary>
    public ReadOnlySpan<byte> Value { get; } = value;
}
