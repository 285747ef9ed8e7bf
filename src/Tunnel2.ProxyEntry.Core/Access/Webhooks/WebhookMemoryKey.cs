using System.Buffers.Binary;
using System.Security.Cryptography;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Access.Webhooks;

/// <summary>Whose signatures are remembered together: those of one owner of tunnels, by one secret. It does not have the secret.</summary>
/// <param name="Owner">The owner.</param>
/// <param name="A">The first half of the digest of provider and secret.</param>
/// <param name="B">The second half.</param>
internal readonly record struct WebhookMemoryKey(string Owner, ulong A, ulong B)
{
    /// <summary>The keys of an owner's rule, one for each secret.</summary>
    public static WebhookMemoryKey[] Of(string owner, WebhookRule rule) =>
        [.. rule.Secrets.Select(secret => Of(owner, rule.Provider, secret.Span))];

    private static WebhookMemoryKey Of(string owner, WebhookProvider provider, ReadOnlySpan<byte> secret)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        hash.AppendData([(byte)provider]);
        hash.AppendData(secret);
        Span<byte> digest = stackalloc byte[SHA256.HashSizeInBytes];
        hash.GetHashAndReset(digest);
        return new WebhookMemoryKey(
            owner, BinaryPrimitives.ReadUInt64LittleEndian(digest), BinaryPrimitives.ReadUInt64LittleEndian(digest[sizeof(ulong)..]));
    }
}
