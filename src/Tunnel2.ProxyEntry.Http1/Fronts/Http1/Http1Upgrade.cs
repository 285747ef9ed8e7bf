using System.IO.Pipelines;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>A connection of our front after a 101.</summary>
internal sealed class Http1Upgrade(PipeReader input, Http1Connection connection) : UpgradedConnection
{
    /// <inheritdoc/>
    public override PipeReader Input => input;

    /// <inheritdoc/>
    public override ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data) => connection.SendAsync(data);

    /// <inheritdoc/>
    public override ValueTask<bool> EndSendAsync() => connection.EndSendAsync();
}
