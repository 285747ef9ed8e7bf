namespace Tunnel2.ProxyEntry.Agents;

/// <summary>The limits of a tier. Immutable; two of equal values are equal.</summary>
/// <param name="Name">The tier's name.</param>
/// <param name="RequestsPerSecond">Requests a second for each session, from 1 on.</param>
/// <param name="Burst">Requests at one instant, from 1 on.</param>
internal sealed record RateTier(string Name, int RequestsPerSecond, int Burst);
