namespace Tunnel2.ProxyEntry.Acme;

/// <summary>An answer of a certificate authority, of limited size.</summary>
/// <param name="Status">The status of HTTP.</param>
/// <param name="MediaType">The type of the body; empty if there is none.</param>
/// <param name="Body">The body.</param>
/// <param name="Location">The address of what was made, or null.</param>
/// <param name="Nonce">The nonce for the next request, or null.</param>
/// <param name="RetryAfter">How long to wait, not negative; null: nothing is said.</param>
internal sealed record AcmeResponse(int Status, string MediaType, byte[] Body, Uri? Location, string? Nonce, TimeSpan? RetryAfter);
