using Tunnel2.Client.Core.Backend;

namespace Tunnel2.Client.Tests.Backend;

/// <summary>A connection that is only open or not.</summary>
internal sealed class FakeBackendTransport : BackendTransport
{
    public bool IsOpen { get; set; } = true;

    public bool IsDisposed { get; private set; }

    public override ValueTask<int> ReceiveAsync(Memory<byte> buffer) => throw new NotSupportedException();

    public override ValueTask SendAsync(ReadOnlyMemory<byte> buffer) => throw new NotSupportedException();

    public override void ShutdownSend() => throw new NotSupportedException();

    public override bool IsIdleAndOpen() => IsOpen;

    public override void Abort() => IsOpen = false;

    public override void Dispose() => IsDisposed = true;
}
