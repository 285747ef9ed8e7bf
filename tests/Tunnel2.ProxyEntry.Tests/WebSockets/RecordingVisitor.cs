using System.IO.Pipelines;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Tests.WebSockets;

/// <summary>A visitor after a 101 that takes everything and says nothing.</summary>
internal sealed class RecordingVisitor : UpgradedConnection
{
    private readonly List<byte> _received = [];

    public override PipeReader Input => throw new NotSupportedException();

    public long Length => _received.Count;

    public byte[] ToArray() => [.. _received];

    public override ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data)
    {
        _received.AddRange(data.Span);
        return new(true);
    }

    public override ValueTask<bool> EndSendAsync() => new(true);
}
