using System.Buffers.Binary;
using System.Security.Cryptography;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Access.Webhooks;

/// <summary>Whose signatures are remembered together: those of one owner of tunnels, by one rule. It has no secret.</summary>
/// <param name="Owner">The owner.</param>
/// <param name="A">The first half of the rule's digest.</param>
/// <param name="B">The second half.</param>
internal readonly record struct WebhookMemoryKey(string Owner, ulong A, ulong B)
{
    /// <summary>The key of an owner's rule.</summary>
    public static WebhookMemoryKey Of(string owner, WebhookRule rule)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        Span<byte> number = stackalloc byte[sizeof(int)];
        Append(hash, number, (int)rule.Provider);
        foreach (var secret in rule.Secrets)
        {
            Append(hash, number, secret.Length);
            hash.AppendData(secret.Span);
        }

        Span<byte> digest = stackalloc byte[SHA256.HashSizeInBytes];
        hash.GetHashAndReset(digest);
        return new WebhookMemoryKey(
            owner, BinaryPrimitives.ReadUInt64LittleEndian(digest), BinaryPrimitives.ReadUInt64LittleEndian(digest[sizeof(ulong)..]));
    }

    private static void Append(IncrementalHash hash, Span<byte> room, int number)
    {
        BinaryPrimitives.WriteInt32LittleEndian(room, number);
        hash.AppendData(room);
    }
}
