namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Where and how agents connect: keys <c>Tunnel2:Uplink:*</c>.</summary>
public sealed class UplinkOptions
{
    /// <summary>
    /// <c>host:port</c> that agents dial. Default <c>127.0.0.1:12001</c>. Off loopback it needs tokens and TLS, or ProxyEntry refuses to
    /// start (see <see cref="ProxyEntryOptions.AllowAnonymousAgents"/> and <see cref="AllowPlaintext"/>).
    /// </summary>
    public string Listen { get; set; } = "127.0.0.1:12001";

    /// <summary>
    /// Path of the certificate for TLS on the uplink, PEM (the chain behind it) or PKCS#12, or <c>self-made</c>. Default none: plaintext on
    /// loopback, a self-made certificate elsewhere (kept in <see cref="ProxyEntryOptions.StateFolder"/>; agents pin its fingerprint). Read again
    /// when the file changes. Agents check its name.
    /// </summary>
    public string? Certificate { get; set; }

    /// <summary>Path of the PEM private key, where it is not in the certificate's file. Default none.</summary>
    public string? CertificateKey { get; set; }

    /// <summary>Password of the PKCS#12 file or of the encrypted PEM key. Default none. Secret: better given by environment.</summary>
    public string? CertificatePassword { get; set; }

    /// <summary>
    /// Path of a PEM file with the authorities that issue agents' certificates. Default none: only certificates whose fingerprint an agent
    /// lists are accepted. Needs TLS on the uplink.
    /// </summary>
    public string? ClientCa { get; set; }

    /// <summary>
    /// How many failed attempts (a missing, wrong or revoked token or certificate) one address may make in a minute; IPv6 counts by /64. Beyond
    /// that every attempt from there is told to wait. 1–10000, default 10; 0 is off, for agents behind one address that others share.
    /// </summary>
    public int FailuresPerMinute { get; set; } = 10;

    /// <summary>
    /// Connections of agents at once, behind their handshake: 1 to 1,000,000, or null for auto (default): a part of the process's limit of open
    /// files. Beyond it agents are told to try again. The last quarter is kept from further uplinks of sessions that have one.
    /// </summary>
    public int? Connections { get; set; }

    /// <summary>
    /// Connections of agents at once that have not finished their handshake, TLS included: 1 to 1,000,000, or null for auto (default): a part of the
    /// process's limit of open files. Beyond it newcomers wait, and the slowest end; one address (IPv6: /64) gets half of them.
    /// </summary>
    public int? Handshakes { get; set; }

    /// <summary>
    /// Sessions at once of each agent of <see cref="ProxyEntryOptions.Agents"/> that does not say otherwise, and of all agents without a token at
    /// one address off loopback (IPv6: /64). 1–1000000, default 100. Beyond it an agent is told to try again; taking over one's own name is free.
    /// </summary>
    public int SessionsPerAgent { get; set; } = 100;

    /// <summary>
    /// Permit an uplink without TLS off loopback. Default false. If true on an open network, tokens and all traffic can be read on the way.
    /// </summary>
    public bool AllowPlaintext { get; set; }
}
