using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>Tokens for the settings of an entry.</summary>
internal static class EntryTokens
{
    /// <summary>What the agents of a test that have no token show: all of them are one user's, as on a developer's machine.</summary>
    public static ReadOnlyMemory<byte> OwnerKey { get; } = System.Security.Cryptography.RandomNumberGenerator.GetBytes(32);

    public static string HashSetting(string token) => TokenHash.FromToken(token).ToSetting();
}
