using System.Collections.Immutable;
using System.Net;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Agents;

/// <summary>Who may visit the tunnels of an agent. The agent cannot change it. Immutable.</summary>
/// <param name="Users">Those who may log in; empty: no login is needed.</param>
/// <param name="Allowed">Networks that may visit; empty: all.</param>
/// <param name="Denied">Networks that may not visit, allowed or not.</param>
internal sealed record ForcedAccess(
    ImmutableArray<AccessUser> Users, ImmutableArray<IPNetwork> Allowed, ImmutableArray<IPNetwork> Denied)
{
    /// <summary>The tokens that visitors have to show; null: none.</summary>
    public ForcedTokens? Tokens { get; init; }

    /// <summary>The gate where visitors sign in; null: none.</summary>
    public string? Gate { get; init; }

    /// <summary>The authorities that issue visitors' certificates; null: none is needed.</summary>
    public X509Certificate2Collection? Authorities { get; init; }

    /// <summary>Makes the rules; null if there is none.</summary>
    public static ForcedAccess? Of(
        ImmutableArray<AccessUser> users, ImmutableArray<IPNetwork> allowed, ImmutableArray<IPNetwork> denied,
        ForcedTokens? tokens = null, string? gate = null, X509Certificate2Collection? authorities = null) =>
        users.IsEmpty && allowed.IsEmpty && denied.IsEmpty && tokens is null && gate is null && authorities is null
        ? null
        : new ForcedAccess(users, allowed, denied) { Tokens = tokens, Gate = gate, Authorities = authorities };

    /// <summary>Whether both say the same.</summary>
    public bool IsSameAs(ForcedAccess? other) => other is not null
        && Allowed.SequenceEqual(other.Allowed)
        && Denied.SequenceEqual(other.Denied)
        && Tokens == other.Tokens
        && Gate == other.Gate
        && HashesOf(Authorities).SequenceEqual(HashesOf(other.Authorities), StringComparer.Ordinal)
        && Users.Select(TextOf).SequenceEqual(other.Users.Select(TextOf), StringComparer.Ordinal);

    private static IEnumerable<string> HashesOf(X509Certificate2Collection? certificates) =>
        (certificates ?? []).Select(static one => one.GetCertHashString(System.Security.Cryptography.HashAlgorithmName.SHA256));

    private static string TextOf(AccessUser user) => $"{user.Name}:{user.Hash.ToText()}";
}
