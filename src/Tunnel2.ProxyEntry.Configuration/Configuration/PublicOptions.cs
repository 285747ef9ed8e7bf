namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Where visitors are served: keys <c>Tunnel2:Public:*</c>.</summary>
public sealed class PublicOptions
{
    /// <summary>
    /// <c>host:port</c> for plain HTTP, or <c>off</c>. Default <c>127.0.0.1:12000</c>. On loopback nobody outside this machine reaches the
    /// tunnels; off needs <see cref="HttpsListen"/>.
    /// </summary>
    public string HttpListen { get; set; } = "127.0.0.1:12000";

    /// <summary>
    /// <c>host:port</c> for HTTPS, or <c>off</c>. Default <c>off</c>. Needs <see cref="Certificate"/> or the certificate of the uplink.
    /// </summary>
    public string HttpsListen { get; set; } = "off";

    /// <summary>
    /// Path of the certificate for HTTPS, PEM or PKCS#12, or <c>self-made</c>: certificates of an authority of one's own, for trials. Default: the
    /// one of <c>Uplink:Certificate</c>. It must cover <c>*.{Domain}</c>, or browsers warn.
    /// </summary>
    public string? Certificate { get; set; }

    /// <summary>Path of the PEM private key, where it is not in the certificate's file. Default none.</summary>
    public string? CertificateKey { get; set; }

    /// <summary>Password of the PKCS#12 file or of the encrypted PEM key. Default none. Secret: better given by environment.</summary>
    public string? CertificatePassword { get; set; }
}
