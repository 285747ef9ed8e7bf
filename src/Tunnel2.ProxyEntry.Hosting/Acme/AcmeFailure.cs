namespace Tunnel2.ProxyEntry.Acme;

/// <summary>How often in a row there was no certificate for a name.</summary>
/// <param name="Count">How often; 0: nothing is wrong with the name, and it has to wait all the same.</param>
/// <param name="NextTry">When the next try may be.</param>
/// <param name="Reason">Why the last try failed, in words; may be empty after a restart.</param>
/// <param name="IsPostponed">It waits only until the cluster's database is back.</param>
internal sealed record AcmeFailure(int Count, DateTimeOffset NextTry, string Reason = "", bool IsPostponed = false);
