namespace Tunnel2.Protocol.Headers;

/// <summary>A field of a header block: views of the block's bytes.</summary>
public readonly ref struct HeaderField
{
    internal HeaderField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        Name = name;
        Value = value;
    }

    /// <summary>The name, in the case in which it was sent.</summary>
    public ReadOnlySpan<byte> Name { get; }

    /// <summary>The value.</summary>
    public ReadOnlySpan<byte> Value { get; }
}
