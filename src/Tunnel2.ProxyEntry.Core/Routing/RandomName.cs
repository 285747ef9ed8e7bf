using System.Security.Cryptography;

namespace Tunnel2.ProxyEntry.Routing;

/// <summary>Names for agents that ask for none.</summary>
internal static class RandomName
{
    /// <summary>The length of a random name: 10 characters of 36 are about 51 bits, too many to guess one that is in use.</summary>
    public const int Length = 10;

    /// <summary>A new name of <c>[a-z0-9]</c>. Not checked against names in use.</summary>
    public static string Create() => RandomNumberGenerator.GetString("abcdefghijklmnopqrstuvwxyz0123456789", Length);
}
