namespace Tunnel2.ProxyEntry.Acme;

/// <summary>A certificate that an authority issued and that was checked.</summary>
/// <param name="Chain">The certificate first, then those between it and its authority, as PEM.</param>
/// <param name="Key">Its private key, as PEM: for its file alone.</param>
internal sealed record IssuedCertificate(string Chain, string Key)
{
    /// <summary>Both, as its file has them.</summary>
    public string Pem => Chain.TrimEnd() + "\n" + Key + "\n";

    /// <summary>Without the key.</summary>
    public override string ToString() => "a certificate";
}
