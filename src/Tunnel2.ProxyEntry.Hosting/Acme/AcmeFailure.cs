namespace Tunnel2.ProxyEntry.Acme;

/// <summary>How often in a row there was no certificate for a name.</summary>
/// <param name="Count">How often.</param>
/// <param name="NextTry">When the next try may be.</param>
/// <param name="Reason">Why the last try failed, in words; empty after a restart.</param>
internal sealed record AcmeFailure(int Count, DateTimeOffset NextTry, string Reason = "");
