namespace Tunnel2.Http1;

/// <summary>A range of bytes, relative to the start of the parsed buffer.</summary>
/// <param name="Offset">Index of the first byte.</param>
/// <param name="Length">Number of bytes.</param>
internal readonly record struct ByteRange(int Offset, int Length)
{
    /// <summary>The bytes in the parsed buffer.</summary>
    public ReadOnlySpan<byte> Of(ReadOnlySpan<byte> buffer) => buffer.Slice(Offset, Length);
}
