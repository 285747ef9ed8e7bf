namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// The values of the flags and environment variables about TLS as the user wrote them. Null means "not given"; an empty one is a mistake.
/// </summary>
/// <param name="ServerFingerprint"><c>--server-fingerprint</c> or <c>TUNNEL2_SERVER_FINGERPRINT</c>.</param>
/// <param name="ServerCa"><c>--server-ca</c> or <c>TUNNEL2_SERVER_CA</c>.</param>
/// <param name="ClientCertificate"><c>--client-cert</c> or <c>TUNNEL2_CLIENT_CERT</c>.</param>
/// <param name="ClientKey"><c>--client-key</c> or <c>TUNNEL2_CLIENT_KEY</c>.</param>
public sealed record TlsOptionsInput(
    string? ServerFingerprint = null, string? ServerCa = null, string? ClientCertificate = null, string? ClientKey = null)
{
    /// <summary>Whether anything is given.</summary>
    public bool IsAnyGiven => (ServerFingerprint ?? ServerCa ?? ClientCertificate ?? ClientKey) is not null;
}
