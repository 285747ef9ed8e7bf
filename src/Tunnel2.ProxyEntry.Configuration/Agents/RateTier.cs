namespace Tunnel2.ProxyEntry.Agents;

/// <summary>The limits of a tier. Immutable, with equality by value.</summary>
/// <param name="Name">The tier's name.</param>
/// <param name="RequestsPerSecond">Requests a second for each session, at least 1.</param>
/// <param name="Burst">Requests at one instant, at least 1.</param>
internal sealed record RateTier(string Name, int RequestsPerSecond, int Burst);
