using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Agents;

/// <summary>An issuer of tokens (JWT), and where its keys are. Immutable.</summary>
/// <param name="Name">The issuer as its tokens name it: a URL, compared character by character.</param>
/// <param name="Keys">The address of its keys (JWKS); null: its discovery document says it.</param>
internal sealed record TokenIssuer(string Name, Uri? Keys)
{
    /// <summary>What a setting may hold, for the document.</summary>
    public const string Forms = "https URL; or URL, space, URL of its keys (JWKS); http for loopback only";

    /// <summary>Reads an issuer, and after a space where its keys are.</summary>
    /// <returns>The mistake, or null.</returns>
    public static string? Parse(string text, out TokenIssuer value)
    {
        value = null!;
        var parts = text.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        if (parts.Length is 0 or > 2 || !AccessTokens.IsText(parts[0]) || AddressOf(parts[0]) is not { Query: "" })
        {
            return "is not the https URL of an issuer, and after a space that of its keys; http is for loopback only.";
        }

        var keys = parts.Length == 2 ? AddressOf(parts[1]) : null;
        if (parts.Length == 2 && keys is null)
        {
            return "names keys at an address that is not an https URL; http is for loopback only.";
        }

        value = new TokenIssuer(parts[0], keys);
        return null;
    }

    /// <summary>An address from which keys may be fetched; null when the text is none.</summary>
    public static Uri? AddressOf(string text) =>
        Uri.TryCreate(text, UriKind.Absolute, out var address) && IsSafe(address, mayBePlain: true) ? address : null;

    /// <summary>Whether keys may be fetched from an address.</summary>
    /// <param name="address">The address.</param>
    /// <param name="mayBePlain">Whether http will do on this machine.</param>
    public static bool IsSafe(Uri address, bool mayBePlain) => address is { UserInfo: "", Fragment: "" }
        && (address.Scheme == Uri.UriSchemeHttps || (mayBePlain && address.Scheme == Uri.UriSchemeHttp && address.IsLoopback));
}
