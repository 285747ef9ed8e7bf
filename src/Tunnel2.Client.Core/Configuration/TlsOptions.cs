namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// How an agent trusts its server, and what it shows of itself. Immutable. Files are read for every connection, so that a renewed one is
/// used without a restart.
/// </summary>
public sealed record TlsOptions
{
    /// <summary>
    /// Fingerprints of the server's certificate, <c>sha256:</c> and 64 hexadecimal digits each; any of them is trusted, with any issuer,
    /// and for any name and time. Empty: the certificate is checked against an authority, with its name and dates.
    /// </summary>
    public IReadOnlyList<string> ServerFingerprints { get; init; } = [];

    /// <summary>A PEM file of the authorities that may have issued the server's certificate; null: those of the system.</summary>
    public string? ServerCaFile { get; init; }

    /// <summary>A PEM file of the agent's own certificate, which replaces a token; null: none.</summary>
    public string? ClientCertificateFile { get; init; }

    /// <summary>A PEM file of its private key; null: it is in the certificate's file.</summary>
    public string? ClientKeyFile { get; init; }
}
