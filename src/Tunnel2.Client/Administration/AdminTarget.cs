using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Administration;

/// <summary>Which server a command administers, and with which token. Immutable.</summary>
/// <param name="Address">The root of its admin listener.</param>
/// <param name="Token">Its admin token, or null.</param>
internal sealed record AdminTarget(Uri Address, string? Token)
{
    /// <summary>The option that names the server.</summary>
    public const string AddressFlag = "--admin";

    /// <summary>The option that names a file with its token.</summary>
    public const string TokenFileFlag = "--admin-token-file";

    /// <summary>The variable for what <see cref="AddressFlag"/> does not say.</summary>
    public const string AddressVariable = "TUNNEL2_ADMIN_URL";

    /// <summary>The variable with the token. Other users cannot see it, unlike a command line.</summary>
    public const string TokenVariable = "TUNNEL2_ADMIN_TOKEN";

    /// <summary>Where a server of this machine usually listens.</summary>
    public const string DefaultAddress = "http://127.0.0.1:12002";

    private const string PlaintextVariable = "TUNNEL2_ALLOW_PLAINTEXT";

    /// <summary>Reads flags and variables.</summary>
    /// <param name="given">The value of <see cref="AddressFlag"/>; null: it was not given.</param>
    /// <param name="tokenFile">The value of <see cref="TokenFileFlag"/>; null: it was not given.</param>
    /// <param name="environment">Returns the value of a variable, or null.</param>
    /// <param name="mistake">What is wrong, without a secret; null: nothing.</param>
    public static AdminTarget? Read(string? given, string? tokenFile, Func<string, string?> environment, out string? mistake)
    {
        string place = given is null ? AddressVariable : AddressFlag;
        string text = given ?? (environment(AddressVariable) is { Length: > 0 } variable ? variable : DefaultAddress);
        if (!Uri.TryCreate(text, UriKind.Absolute, out Uri? address)
            || (address.Scheme != Uri.UriSchemeHttp && address.Scheme != Uri.UriSchemeHttps)
            || address.UserInfo.Length > 0 || address.PathAndQuery != "/")
        {
            mistake = $"{place}: is the URL of a server's admin listener, such as {DefaultAddress}";
            return null;
        }

        string? token = environment(TokenVariable) is { Length: > 0 } secret ? secret : null;
        if (tokenFile is not null && TokenFile.TryRead(tokenFile, out token) is { } problem)
        {
            mistake = $"{TokenFileFlag}: {problem}";
            return null;
        }

        if (token is not null && (token.Length == 0 || !token.All(static c => c is > ' ' and <= '~')))
        {
            mistake = $"{(tokenFile is null ? TokenVariable : TokenFileFlag)}: has no token, or one with other characters than visible "
                + "ASCII";
            return null;
        }

        if (token is not null && address.Scheme == Uri.UriSchemeHttp && !TlsOptionsParser.IsThisMachine(address.DnsSafeHost)
            && environment(PlaintextVariable) is not ("1" or "true"))
        {
            mistake = $"{place}: the admin token would leave this machine unencrypted; https://… encrypts it, "
                + $"{PlaintextVariable}=1 permits it on a network that is private by itself";
            return null;
        }

        mistake = null;
        return new AdminTarget(address, token);
    }

    /// <summary>Hides the token.</summary>
    public override string ToString() => Address.Authority;
}
