namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>One agent that holds a token: keys <c>Tunnel2:Agents:&lt;id&gt;:*</c>.</summary>
public sealed class AgentOptions
{
    /// <summary>
    /// SHA-256 of the token as <c>sha256:</c> and 64 hexadecimal digits; <c>tunnel2-entry token create</c> prints it. Required unless a certificate
    /// is given. A wrong hash means that the agent is rejected.
    /// </summary>
    public string? TokenHash { get; set; }

    /// <summary>
    /// SHA-256 of the certificate that the agent shows instead of a token, as <c>sha256:</c> and 64 hexadecimal digits (colons between pairs
    /// may stay). It need not be issued by anybody. Default none.
    /// </summary>
    public string? CertificateFingerprint { get; set; }

    /// <summary>
    /// The common name (CN) of the certificate that the agent shows instead of a token, issued by <see cref="UplinkOptions.ClientCa"/>; any case.
    /// It may be renewed without a change here. Default none.
    /// </summary>
    public string? CertificateName { get; set; }

    /// <summary>
    /// The names the token may claim, <c>*</c> standing for any characters (<c>web</c>, <c>team-*</c>), as an array or as one
    /// comma-separated value. Default none: any name that no other agent lists. Listed names are kept from all others.
    /// </summary>
    public IList<string> Names { get; } = [];

    /// <summary>Sessions at once, as written: a number of 1 to 1,000,000. Default none: <see cref="UplinkOptions.SessionsPerAgent"/>.</summary>
    public string? Sessions { get; set; }

    /// <summary>The name of the set of limits that applies, 1–32 characters of <c>[a-z0-9-]</c>: <c>free</c>, <c>pro</c>, <c>enterprise</c> or one of <see cref="ProxyEntryOptions.Tiers"/>. Default none: unlimited.</summary>
    public string? Tier { get; set; }
}
