namespace Tunnel2.Embed;

/// <summary>What all tunnels of a program have in common. Read once, when the host starts.</summary>
public abstract class Tunnel2TunnelOptions
{
    private protected Tunnel2TunnelOptions()
    {
    }

    /// <summary>
    /// The wanted public name: 1 to 50 characters of <c>a-z</c>, <c>0-9</c> and <c>-</c>. Null: ten random characters, which are others
    /// after a restart.
    /// </summary>
    public string? Name { get; set; }

    /// <summary>The secret that proves to the server who the tunnel belongs to; null: none. It is never logged.</summary>
    public string? Token { get; set; }

    /// <summary>
    /// Whether the token may leave this machine unencrypted, for networks that are private by themselves. Otherwise a tunnel with a token
    /// is only opened with TLS, or at a server on this machine.
    /// </summary>
    public bool AllowPlaintextToken { get; set; }

    /// <summary>
    /// Fingerprints of the server's certificate, <c>sha256:</c> and 64 hexadecimal digits: any of them is trusted. Empty: the certificate
    /// is checked as browsers do.
    /// </summary>
    public IList<string> ServerFingerprints { get; } = [];

    /// <summary>A PEM file of the authorities that may have issued the server's certificate; null: those of the system.</summary>
    public string? ServerCaFile { get; set; }

    /// <summary>A PEM file of the tunnel's own certificate, which replaces a token; null: none.</summary>
    public string? ClientCertificateFile { get; set; }

    /// <summary>A PEM file of its private key; null: it is in the certificate's file.</summary>
    public string? ClientKeyFile { get; set; }

    /// <summary>
    /// The proxy through which the server is reached, such as <c>http://user:password@proxy:3128</c>, or <c>off</c>; null: that of the
    /// variables <c>HTTPS_PROXY</c> and <c>NO_PROXY</c>.
    /// </summary>
    public string? Proxy { get; set; }

    /// <summary>
    /// Users who may visit, each <c>user:password</c>, or <c>user:HASH</c> with a hash of <c>tunnel2 hash-password</c>. Empty: visitors
    /// need no password. The server checks it before a request reaches this program.
    /// </summary>
    public IList<string> BasicAuth { get; } = [];

    /// <summary>Addresses and networks that may visit, such as <c>192.0.2.0/24</c>. Empty: all.</summary>
    public IList<string> AllowIp { get; } = [];

    /// <summary>Addresses and networks that may not visit, also where <see cref="AllowIp"/> has them.</summary>
    public IList<string> DenyIp { get; } = [];

    /// <summary>Connections to the server, 1 to 16; null: one to four, by load.</summary>
    public int? Uplinks { get; set; }

    /// <summary>
    /// Whether the host's start waits for the tunnel, and fails with a <see cref="Tunnel2StartException"/> when the first attempt to open
    /// it fails. Otherwise the host starts without it, and the tunnel is tried again until it opens.
    /// </summary>
    public bool StartRequiresTunnel { get; set; }
}
