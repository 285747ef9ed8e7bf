namespace Tunnel2.Client.Core.Configuration;

/// <summary>The values of the flags and environment variables about TLS as the user wrote them. Null or empty means "not given".</summary>
/// <param name="ServerFingerprint"><c>--server-fingerprint</c> or <c>TUNNEL2_SERVER_FINGERPRINT</c>.</param>
/// <param name="ServerCa"><c>--server-ca</c> or <c>TUNNEL2_SERVER_CA</c>.</param>
/// <param name="ClientCertificate"><c>--client-cert</c> or <c>TUNNEL2_CLIENT_CERT</c>.</param>
/// <param name="ClientKey"><c>--client-key</c> or <c>TUNNEL2_CLIENT_KEY</c>.</param>
public sealed record TlsOptionsInput(string? ServerFingerprint, string? ServerCa, string? ClientCertificate, string? ClientKey)
{
    /// <summary>Whether anything is given.</summary>
    public bool IsAnyGiven =>
        !string.IsNullOrEmpty(ServerFingerprint) || !string.IsNullOrEmpty(ServerCa) || !string.IsNullOrEmpty(ClientCertificate) || !string.IsNullOrEmpty(ClientKey);
}
