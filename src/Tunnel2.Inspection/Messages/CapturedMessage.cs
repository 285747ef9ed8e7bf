namespace Tunnel2.Inspection.Messages;

/// <summary>A message that passed. Immutable.</summary>
/// <param name="Number">Counts the messages of an exchange, from 1.</param>
/// <param name="FromVisitor">Whether the visitor sent it.</param>
/// <param name="Kind">What it is.</param>
/// <param name="After">How long after the exchange's begin.</param>
/// <param name="Kept">Its first bytes.</param>
/// <param name="Length">Its true length in bytes, as it passed.</param>
/// <param name="IsCompressed">Whether an extension has compressed what is kept.</param>
/// <param name="Content">The whole length of what is kept, where it was decompressed as it passed; or null.</param>
internal sealed record CapturedMessage(
    long Number, bool FromVisitor, MessageKind Kind, TimeSpan After, byte[] Kept, long Length, bool IsCompressed, long? Content)
{
    /// <summary>What a message costs beyond its bytes.</summary>
    public const int Overhead = 160;

    /// <summary>What it is accounted for.</summary>
    public int Cost => Overhead + Kept.Length;
}
