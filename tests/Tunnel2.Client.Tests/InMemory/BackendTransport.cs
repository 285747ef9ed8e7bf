using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Transports;

namespace Tunnel2.Client.Tests.InMemory;

/// <summary>The agent's end of a connection to a backend in memory, which can be made to fail.</summary>
internal sealed class BackendTransport(InMemoryTransport inner) : IByteTransport
{
    /// <summary>The connection itself.</summary>
    public InMemoryTransport Inner => inner;

    public bool WaitsFreely { get; init; } = true;

    /// <summary>Whether it was ended by a reset on purpose.</summary>
    public bool IsDiscarded { get; private set; }

    /// <summary>How often it was aborted.</summary>
    public int Aborts { get; private set; }

    /// <summary>What the next send throws: a fault of ours, and none of the connection.</summary>
    public Exception? Fault { get; set; }

    /// <summary>What the next receive throws: a fault of ours, too.</summary>
    public Exception? ReceiveFault { get; set; }

    /// <summary>What the next sends wait for; null: for nothing.</summary>
    public Task? BeforeSend { get; set; }

    public ValueTask<int> ReceiveAsync(Memory<byte> buffer) => ReceiveFault is { } fault ? throw fault : inner.ReceiveAsync(buffer);

    public ValueTask SendAsync(ReadOnlyMemory<byte> buffer) => Fault is { } fault ? throw fault
        : BeforeSend is { } before ? SendAfterAsync(before, buffer)
        : inner.SendAsync(buffer);

    public void ShutdownSend() => inner.ShutdownSend();

    public bool IsIdleAndOpen() => inner.Incoming.IsOpen && inner.Incoming.Available == 0;

    public bool HasBytes() => inner.Incoming.Available > 0;

    public void Abort()
    {
        Aborts++;
        inner.Abort();
    }

    public void Discard()
    {
        IsDiscarded = true;
        inner.Abort();
    }

    public ValueTask DisposeAsync() => inner.DisposeAsync();

    private async ValueTask SendAfterAsync(Task before, ReadOnlyMemory<byte> buffer)
    {
        await before;
        await inner.SendAsync(buffer);
    }
}
