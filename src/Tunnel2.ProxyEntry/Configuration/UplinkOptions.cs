namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Where and how agents connect: keys <c>Tunnel2:Uplink:*</c>.</summary>
public sealed class UplinkOptions
{
    /// <summary>
    /// <c>host:port</c> that agents dial. Default <c>127.0.0.1:12001</c>. Off loopback it needs tokens and TLS, or ProxyEntry refuses to
    /// start (see <see cref="ProxyEntryOptions.AllowAnonymousAgents"/> and <see cref="AllowPlaintext"/>).
    /// </summary>
    public string Listen { get; set; } = "127.0.0.1:12001";

    /// <summary>Path of the certificate for TLS on the uplink, PEM or PKCS#12. Default none: plaintext. Agents check its name.</summary>
    public string? Certificate { get; set; }

    /// <summary>Path of the PEM private key, where it is not in the certificate's file. Default none.</summary>
    public string? CertificateKey { get; set; }

    /// <summary>Password of the PKCS#12 file or of the encrypted PEM key. Default none. Secret: better given by environment.</summary>
    public string? CertificatePassword { get; set; }

    /// <summary>
    /// Permit an uplink without TLS off loopback. Default false. If true on an open network, tokens and all traffic can be read on the way.
    /// </summary>
    public bool AllowPlaintext { get; set; }
}
