using System.IO.Pipelines;
using System.Net;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.ProxyEntry.Fronts.Http1;
using Tunnel2.ProxyEntry.Fronts.Http1.Output;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.Transport.Datagrams;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <summary>
/// The datagrams between one visitor's address and an address of a port, as a connection: each after its length. What cannot be taken at
/// once is dropped.
/// </summary>
internal sealed class DatagramAssociation
{
    /// <summary>Bytes that wait for credit, at most, besides one datagram.</summary>
    private const int Held = 256 * 1024;

    private readonly Lock _gate = new();
    private readonly DatagramMemory _memory;
    private readonly Pipe _pipe;
    private readonly TimeProvider _clock;
    private Task _flushing = Task.CompletedTask;
    private long _lastAt;
    private int _hasLeft;
    private bool _isOver;

    /// <param name="port">The port.</param>
    /// <param name="visitor">The visitor, as the socket knows it.</param>
    /// <param name="called">The address that the visitor calls: answers come from it.</param>
    /// <param name="memory">Where datagrams wait.</param>
    /// <param name="clock">The clock.</param>
    public DatagramAssociation(
        DatagramPort port, SocketAddress visitor, CalledAddress called, DatagramMemory memory, TimeProvider clock)
    {
        _memory = memory;
        _clock = clock;
        _lastAt = clock.GetTimestamp();
        Visitor = visitor;
        Called = called;
        _pipe = new Pipe(new PipeOptions(
            memory, writerScheduler: PipeScheduler.Inline, pauseWriterThreshold: Held, resumeWriterThreshold: Held / 2,
            useSynchronizationContext: false));
        var local = port.Called(called);
        var remote = (IPEndPoint)local.Create(visitor);
        Transport = new VisitorTransport
        {
            Input = _pipe.Reader,
            OutputPipe = PipeWriter.Create(Stream.Null),
            Output = new DatagramOutput(this, port),
            Id = $"udp:{remote}",
            ReadAhead = Held,
            Remote = remote,
            Local = local,
            Abort = End,
        };
    }

    /// <summary>The connection for the front.</summary>
    public VisitorTransport Transport { get; }

    /// <summary>The visitor, as the socket knows it.</summary>
    public SocketAddress Visitor { get; }

    /// <summary>The address that the visitor calls.</summary>
    public CalledAddress Called { get; }

    /// <summary>Its place among those of the port.</summary>
    public ConnectionPlace Place { get; set; }

    /// <summary>How long no datagram has crossed, in either direction.</summary>
    public TimeSpan Silence => _clock.GetElapsedTime(Volatile.Read(ref _lastAt));

    /// <summary>Whether it takes no more datagrams.</summary>
    public bool IsOver
    {
        get
        {
            lock (_gate)
            {
                return _isOver;
            }
        }
    }

    /// <summary>A datagram has arrived. One caller at a time.</summary>
    /// <returns>False when it was dropped.</returns>
    public bool TryWrite(ReadOnlySpan<byte> datagram)
    {
        lock (_gate)
        {
            if (_isOver || !_flushing.IsCompleted || !_memory.HasRoom)
            {
                return false;
            }

            _lastAt = _clock.GetTimestamp();
            var span = _pipe.Writer.GetSpan(sizeof(ushort) + datagram.Length);
            DatagramReader.WriteLength(span, datagram.Length);
            datagram.CopyTo(span[sizeof(ushort)..]);
            _pipe.Writer.Advance(sizeof(ushort) + datagram.Length);
            var flushing = _pipe.Writer.FlushAsync();
            _flushing = flushing.IsCompletedSuccessfully ? Task.CompletedTask : flushing.AsTask();
            return true;
        }
    }

    /// <summary>No more datagrams come: from any thread.</summary>
    public void End()
    {
        lock (_gate)
        {
            if (!_isOver)
            {
                _isOver = true;
                _pipe.Writer.Complete();
            }
        }
    }

    /// <summary>Gives up its place.</summary>
    /// <returns>True once.</returns>
    public bool TryLeave() => Interlocked.Exchange(ref _hasLeft, 1) == 0;

    /// <summary>Sends the datagrams in the bytes that it gets.</summary>
    private sealed class DatagramOutput(DatagramAssociation association, DatagramPort port) : VisitorOutput
    {
        private readonly DatagramReader _datagrams = new(BufferPool.Shared);

        public override Span<byte> GetSpan(int size) => throw new NotSupportedException("Datagrams are sent, not gathered.");

        public override void Advance(int count) => throw new NotSupportedException("Datagrams are sent, not gathered.");

        public override void Write(ReadOnlySpan<byte> data) => throw new NotSupportedException("Datagrams are sent, not gathered.");

        public override ValueTask<bool> FlushAsync() => new(true);

        public override ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data)
        {
            Volatile.Write(ref association._lastAt, association._clock.GetTimestamp());
            var bytes = data.Span;
            while (_datagrams.TryRead(ref bytes, out var datagram))
            {
                port.Send(datagram, association.Visitor, association.Called);
            }

            return new ValueTask<bool>(true);
        }

        public override ValueTask<bool> EndAsync() => new(false);

        /// <remarks>The socket is the listener's.</remarks>
        public override void Release() => _datagrams.Release();
    }
}
