using System.IO.Pipelines;
using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.Multiplexing.Tests.InMemory;

/// <summary>One end of a connection in memory, which can be made to fail.</summary>
internal sealed class InMemoryTransport : IUplinkTransport
{
    private readonly BoundedPipe _incoming;
    private readonly BoundedPipe _outgoing;
    private int _sends;
    private int _receives;
    private int _receiveRoom;
    private int _shutdowns;

    private InMemoryTransport(BoundedPipe incoming, BoundedPipe outgoing)
    {
        _incoming = incoming;
        _outgoing = outgoing;
    }

    public string RemoteName => "memory";

    public BoundedPipe Incoming => _incoming;

    public BoundedPipe Outgoing => _outgoing;

    public int Sends => Volatile.Read(ref _sends);

    public int Receives => Volatile.Read(ref _receives);

    /// <summary>How many bytes the last receive had room for.</summary>
    public int ReceiveRoom => Volatile.Read(ref _receiveRoom);

    public int Shutdowns => Volatile.Read(ref _shutdowns);

    public bool IsDisposed { get; private set; }

    /// <summary>The send that fails, counted from 1; 0 for none.</summary>
    public int FailSendAt { get; set; }

    /// <summary>The receive that fails, counted from 1; 0 for none.</summary>
    public int FailReceiveAt { get; set; }

    /// <summary>Whether a failure is thrown rather than given in the task.</summary>
    public bool ThrowsAtOnce { get; set; }

    /// <summary>Called with the bytes of each send before it starts.</summary>
    public Action<ReadOnlyMemory<byte>>? OnSend { get; set; }

    public static (InMemoryTransport Left, InMemoryTransport Right) CreatePair(int capacity, PipeScheduler scheduler)
    {
        var toRight = new BoundedPipe(capacity, scheduler);
        var toLeft = new BoundedPipe(capacity, scheduler);
        return (new InMemoryTransport(toLeft, toRight), new InMemoryTransport(toRight, toLeft));
    }

    public ValueTask<int> ReceiveAsync(Memory<byte> buffer)
    {
        Volatile.Write(ref _receiveRoom, buffer.Length);
        if (Interlocked.Increment(ref _receives) == FailReceiveAt)
        {
            var error = new IOException("The receive was made to fail.");
            return ThrowsAtOnce ? throw error : ValueTask.FromException<int>(error);
        }

        return _incoming.ReceiveAsync(buffer);
    }

    public ValueTask SendAsync(ReadOnlyMemory<byte> buffer)
    {
        // No Assert.Equal on this path: it allocates, and allocations are measured through here.
        if (Shutdowns != 0 || buffer.IsEmpty)
        {
            Assert.Fail("A send behind the end, or of nothing.");
        }

        OnSend?.Invoke(buffer);
        if (Interlocked.Increment(ref _sends) == FailSendAt)
        {
            var error = new IOException("The send was made to fail.");
            return ThrowsAtOnce ? throw error : ValueTask.FromException(error);
        }

        return _outgoing.SendAsync(buffer);
    }

    public void ShutdownSend()
    {
        Assert.Equal(1, Interlocked.Increment(ref _shutdowns));
        _outgoing.Close();
    }

    public void Abort()
    {
        if (Shutdowns > 0 && _incoming.IsOver)
        {
            // Both directions have ended in order: closing takes nothing from what is still on its way, as with TCP.
            return;
        }

        _incoming.Break("The connection was aborted.");
        _outgoing.Break("The connection was reset by the peer.");
    }

    public ValueTask DisposeAsync()
    {
        Abort();
        IsDisposed = true;
        return default;
    }
}
