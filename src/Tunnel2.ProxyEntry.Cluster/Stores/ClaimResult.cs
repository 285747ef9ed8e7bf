namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>The answer to a claim.</summary>
/// <param name="Name">The name.</param>
/// <param name="Status">How it ended.</param>
/// <param name="Epoch">The new epoch, or that of the other holder.</param>
/// <param name="FreeIn">With <see cref="ClaimStatus.Taken"/>: how long the name is kept for its last owner; zero: a session has it.</param>
/// <param name="Node">With <see cref="ClaimStatus.Taken"/>: the holder's node.</param>
/// <param name="Instance">With <see cref="ClaimStatus.Taken"/>: the process of the agent that has it.</param>
/// <param name="LeaseRest">
/// With <see cref="ClaimStatus.Taken"/> by an online session of the same owner: how long its node's lease lasts still. Zero otherwise.
/// </param>
internal sealed record ClaimResult(
    string Name, ClaimStatus Status, long Epoch = 0, TimeSpan FreeIn = default, string? Node = null, byte[]? Instance = null,
    TimeSpan LeaseRest = default);
