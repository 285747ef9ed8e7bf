namespace Tunnel2.Http1;

/// <summary>A run of bytes, relative to the start of the buffer that was parsed.</summary>
/// <param name="Offset">Index of the first byte.</param>
/// <param name="Length">Number of bytes.</param>
internal readonly record struct ByteRange(int Offset, int Length)
{
    /// <summary>The bytes themselves, out of the buffer that was parsed.</summary>
    public ReadOnlySpan<byte> Of(ReadOnlySpan<byte> buffer) => buffer.Slice(Offset, Length);
}
