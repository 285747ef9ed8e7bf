namespace Tunnel2.ProxyEntry.Acme;

/// <summary>An order that counts for an hour.</summary>
/// <param name="At">When it was made.</param>
/// <param name="Owner">A digest of the owner of the tunnel whose new name it was for; null: it was for none.</param>
internal readonly record struct CountedOrder(DateTimeOffset At, string? Owner = null)
{
    /// <summary>The digits of a digest. Documents and files with two thousand orders stay short.</summary>
    public const int OwnerLength = 12;

    /// <summary>An owner as it is written down and compared.</summary>
    /// <param name="digest">The digest of an identity.</param>
    public static string OwnerOf(byte[] digest) => Convert.ToHexStringLower(digest)[..OwnerLength];

    /// <summary>What was read, if it can be an owner.</summary>
    public static string? ReadOwner(string? text) => text?.Length == OwnerLength ? text : null;
}
