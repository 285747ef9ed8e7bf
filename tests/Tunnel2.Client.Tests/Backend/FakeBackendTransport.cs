using System.IO.Pipelines;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Backend;

/// <summary>A connection on which something arrives when the test says so, or of which the kernel alone knows.</summary>
internal sealed class FakeBackendTransport : IByteTransport
{
    private TaskCompletionSource<int> _wait = new();
    private bool _hasBytes;

    /// <summary>What the kernel would say, whether or not the wait knows it.</summary>
    public bool IsOpen { get; set; } = true;

    public bool IsDisposed => Disposed.IsSet;

    public WaitSignal Disposed { get; } = new("the connection is closed");

    public bool IsDiscarded { get; private set; }

    public PipeScheduler? Home { get; init; }

    /// <summary>Whether a wait fails within the very call that resets the connection, as it may on a loop of its own.</summary>
    public bool FailsWaitInDiscard { get; init; }

    /// <summary>Bytes or the end arrive, and the wait ends.</summary>
    public void Arrive(bool bytes)
    {
        _hasBytes = bytes;
        IsOpen = false;
        _wait.TrySetResult(0);
    }

    /// <summary>A response arrives, and the wait ends; the connection stays open.</summary>
    public void Respond() => _wait.TrySetResult(0);

    public ValueTask<int> ReceiveAsync(Memory<byte> buffer)
    {
        if (_wait.Task.IsCompleted && IsOpen)
        {
            _wait = new();
        }

        return new ValueTask<int>(_wait.Task);
    }

    public ValueTask SendAsync(ReadOnlyMemory<byte> buffer) => throw new NotSupportedException();

    public void ShutdownSend() => throw new NotSupportedException();

    public bool IsIdleAndOpen() => IsOpen;

    public bool HasBytes() => _hasBytes;

    public void Abort() => IsOpen = false;

    public void Discard()
    {
        IsDiscarded = true;
        Disposed.Set();
        if (FailsWaitInDiscard)
        {
            _wait.TrySetException(new IOException("reset"));
        }
    }

    public ValueTask DisposeAsync()
    {
        Disposed.Set();
        return default;
    }
}
