using System.Net;

namespace Tunnel2.LoadTests.Running;

/// <summary>A tunnel (or any other way to a test backend) that runs already.</summary>
internal sealed class RunningTarget(IPEndPoint endPoint, IReadOnlyList<string> hosts) : LoadTarget
{
    /// <inheritdoc/>
    public override IPEndPoint EndPoint => endPoint;

    /// <inheritdoc/>
    public override IReadOnlyList<string> Hosts => hosts;
}
