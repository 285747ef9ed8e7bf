namespace Tunnel2.ProxyEntry.Acme;

/// <summary>Who asks a certificate authority.</summary>
/// <param name="Key">The key of the account.</param>
/// <param name="Email">Where the authority writes to, or null.</param>
/// <param name="Eab">The account that the authority knows already, or null.</param>
internal sealed record AcmeAccount(AcmeKey Key, string? Email, AcmeEab? Eab);

/// <summary>An account that an authority knows (RFC 8555 section 7.3.4).</summary>
/// <param name="KeyId">Its key id.</param>
/// <param name="Key">Its key.</param>
internal sealed record AcmeEab(string KeyId, byte[] Key)
{
    /// <summary>Without the key.</summary>
    public override string ToString() => KeyId;
}
