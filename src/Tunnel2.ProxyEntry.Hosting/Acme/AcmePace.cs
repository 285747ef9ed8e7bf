namespace Tunnel2.ProxyEntry.Acme;

/// <summary>How often an authority was asked, for all names.</summary>
/// <param name="Orders">The moments of the orders of the last hour.</param>
/// <param name="PausedUntil">Until when it is not asked.</param>
/// <param name="ServerFailures">How often in a row it was not usable.</param>
internal sealed record AcmePace(IReadOnlyList<DateTimeOffset> Orders, DateTimeOffset PausedUntil, int ServerFailures);
