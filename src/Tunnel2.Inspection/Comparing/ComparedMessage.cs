using System.Runtime.InteropServices;
using System.Security.Cryptography;
using Tunnel2.Inspection.Bodies;

namespace Tunnel2.Inspection.Comparing;

/// <summary>A request or a response of a <see cref="ComparedExchange"/>.</summary>
/// <param name="Fields">The fields, in their order.</param>
/// <param name="Trailers">The trailers, in their order.</param>
/// <param name="Body">The body.</param>
internal sealed record ComparedMessage(ComparedField[] Fields, ComparedField[] Trailers, ComparedBody Body);

/// <summary>A field.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Value">Its value.</param>
internal sealed record ComparedField(string Name, ComparedText Value);

/// <summary>A text that may have secrets.</summary>
/// <param name="Shown">As it may be shown.</param>
/// <param name="Digest">The same for the same text alone.</param>
internal sealed record ComparedText(string Shown, byte[] Digest)
{
    /// <summary>Makes it.</summary>
    public static ComparedText Of(string text, string shown, byte[] key) =>
        new(shown, HMACSHA256.HashData(key, MemoryMarshal.AsBytes(text.AsSpan())));

    /// <summary>Whether it is the same text, also where it is masked.</summary>
    public bool IsSame(ComparedText other) => Digest.AsSpan().SequenceEqual(other.Digest);
}

/// <summary>A body.</summary>
/// <param name="Length">Its true length.</param>
/// <param name="IsTruncated">Whether not all of it is kept.</param>
/// <param name="Kind">What it is.</param>
/// <param name="IsUtf8">Whether its text is UTF-8.</param>
/// <param name="Content">As it may be shown, decoded.</param>
/// <param name="Digest">The same for the same kept bytes alone.</param>
internal sealed record ComparedBody(long Length, bool IsTruncated, BodyKind Kind, bool IsUtf8, byte[] Content, byte[] Digest)
{
    /// <summary>Whether it can be compared by lines.</summary>
    public bool HasLines => Kind is BodyKind.Empty || BodyView.IsTextual(Kind);

    /// <summary>Whether the bodies are the same, as far as they are kept.</summary>
    public bool IsSame(ComparedBody other) => Length == other.Length && Digest.AsSpan().SequenceEqual(other.Digest);
}
