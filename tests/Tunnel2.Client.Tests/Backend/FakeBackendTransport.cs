using Tunnel2.Client.Core.Backend;

namespace Tunnel2.Client.Tests.Backend;

/// <summary>A connection on which something arrives when the test says so, or of which the kernel alone knows.</summary>
internal sealed class FakeBackendTransport : BackendTransport
{
    private TaskCompletionSource<int> _wait = new();
    private bool _hasBytes;

    /// <summary>What the kernel would say, whether or not the wait has been told.</summary>
    public bool IsOpen { get; set; } = true;

    public bool IsDisposed { get; private set; }

    public bool IsDiscarded { get; private set; }

    /// <summary>Bytes or the end arrive, and the wait is told.</summary>
    public void Arrive(bool bytes)
    {
        _hasBytes = bytes;
        IsOpen = false;
        _wait.TrySetResult(0);
    }

    public override ValueTask<int> ReceiveAsync(Memory<byte> buffer)
    {
        if (_wait.Task.IsCompleted && IsOpen)
        {
            _wait = new();
        }

        return new ValueTask<int>(_wait.Task);
    }

    public override ValueTask SendAsync(ReadOnlyMemory<byte> buffer) => throw new NotSupportedException();

    public override void ShutdownSend() => throw new NotSupportedException();

    public override bool IsIdleAndOpen() => IsOpen;

    public override bool HasBytes() => _hasBytes;

    public override void Abort() => IsOpen = false;

    public override void Discard()
    {
        IsDiscarded = true;
        Dispose();
    }

    public override void Dispose() => IsDisposed = true;
}
