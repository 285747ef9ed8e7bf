using System.Net;
using Tunnel2.TestUtilities;

namespace Tunnel2.ClusterFaults.Networks;

/// <summary>Everything on loopback, at free ports: needs no rights, and cannot cut.</summary>
internal sealed class LoopbackNetwork : FaultNetwork
{
    /// <inheritdoc/>
    public override bool CanCut => false;

    /// <inheritdoc/>
    public override IPAddress DatabaseAddress => IPAddress.Loopback;

    /// <inheritdoc/>
    public override IPAddress AgentAddress => IPAddress.Loopback;

    /// <inheritdoc/>
    public override IPAddress AddressOf(string node) => IPAddress.Loopback;

    /// <inheritdoc/>
    public override int PortAt(string node) => FreePort.Next();

    /// <inheritdoc/>
    public override IReadOnlyList<string> PrefixOf(string node) => [];

    /// <inheritdoc/>
    public override Task CutAsync(string from, string to) => throw new FaultSuiteException("loopback cannot be cut");

    /// <inheritdoc/>
    public override Task HealAsync() => Task.CompletedTask;

    /// <inheritdoc/>
    public override ValueTask DisposeAsync() => ValueTask.CompletedTask;
}
