using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>Tokens for the settings of an entry.</summary>
internal static class EntryTokens
{
    public static string HashSetting(string token) => TokenHash.FromToken(token).ToSetting();
}
