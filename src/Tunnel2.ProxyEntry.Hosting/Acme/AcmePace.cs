namespace Tunnel2.ProxyEntry.Acme;

/// <summary>How often an authority was asked, for all names.</summary>
/// <param name="Orders">The orders of the last hour.</param>
/// <param name="PausedUntil">Until when it is not asked.</param>
/// <param name="ServerFailures">How often in a row it was not usable.</param>
/// <param name="Version">The version of the cluster's document from which this has followed; 0: none.</param>
internal sealed record AcmePace(IReadOnlyList<CountedOrder> Orders, DateTimeOffset PausedUntil, int ServerFailures, long Version = 0);
