using System.Security.Cryptography;
using System.Text;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Cluster.Names;

/// <summary>What the database keeps of identities: it can compare them, and read none.</summary>
internal static class Digests
{
    /// <summary>The digest of an identity.</summary>
    public static byte[] Of(AgentIdentity identity) => identity.ToDigest();

    /// <summary>The claim of a session.</summary>
    /// <param name="session">The session.</param>
    /// <param name="node">This node.</param>
    /// <param name="since">The last epoch under which this node had the name.</param>
    public static NameClaim ClaimOf(EntrySession session, string node, long since = 0) => new(
        session.Name, Of(session.Identity), Of(session.Owner), Of(session.Instance), Base: since, Share: ShareOf(session, node),
        Kind: session.Kind, Port: session.Lease?.Port ?? 0, Token: session.Grant?.TokenName);

    /// <summary>The place of a session beside others; null: it wants its name for itself.</summary>
    /// <param name="session">The session.</param>
    /// <param name="node">This node.</param>
    public static NameShare? ShareOf(EntrySession session, string node)
    {
        if (session.Member is null && !session.IsSpread)
        {
            return null;
        }

        var instance = Of(session.Instance);
        var member = session.IsSpread ? Hash(instance, Encoding.UTF8.GetBytes(node)) : instance;
        return session.Member is null
            ? new NameShare(Hash("process"u8.ToArray(), Of(session.Identity), instance), member, IsPool: false)
            : new NameShare(TermsOf(session), member, IsPool: true, IsHealthy(session));
    }

    /// <summary>What all members of a pool have in common, at all nodes. For HTTP it is as in releases that know no other pools.</summary>
    private static byte[] TermsOf(EntrySession session)
    {
        var terms = Hash(
            "pool"u8.ToArray(), Of(session.Owner), [session.Grant is null ? (byte)0 : (byte)1],
            Encoding.UTF8.GetBytes(session.Grant?.TokenName ?? ""), SessionPool.RulesOf(session));
        return session.Kind == SessionKind.Http ? terms
            : Hash(terms, [(byte)session.Kind], BitConverter.GetBytes(session.Lease?.Port ?? 0));
    }

    /// <summary>Whether a session's service works.</summary>
    public static bool IsHealthy(EntrySession session) => session.Member?.IsHealthy ?? true;

    /// <summary>A digest of several values with any content: the digest of their digests.</summary>
    private static byte[] Hash(params ReadOnlySpan<byte[]> parts)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        foreach (var part in parts)
        {
            hash.AppendData(SHA256.HashData(part));
        }

        return hash.GetHashAndReset();
    }
}
