using System.IO.Pipelines;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Epoll.Pipes;

namespace Tunnel2.Transport.Tests.Epoll.Pipes;

/// <summary>A reader with its other end: that of a <see cref="Pipe"/>, which says what is right, or that of a socket.</summary>
internal abstract class ReaderUnderTest : IAsyncDisposable
{
    public abstract PipeReader Reader { get; }

    public static async Task<ReaderUnderTest> CreateAsync(string kind)
    {
        if (kind == "pipe")
        {
            return new OfPipe();
        }

        var (left, right) = await LoopbackPair.ConnectAsync();
        return new OfSocket(left, right);
    }

    /// <summary>Sends bytes, which the reader will find after a while.</summary>
    public abstract Task WriteAsync(ReadOnlyMemory<byte> bytes);

    public abstract Task EndAsync();

    public abstract ValueTask DisposeAsync();

    private sealed class OfPipe : ReaderUnderTest
    {
        private readonly Pipe _pipe = new(new PipeOptions(pauseWriterThreshold: 0));

        public override PipeReader Reader => _pipe.Reader;

        public override Task WriteAsync(ReadOnlyMemory<byte> bytes) => _pipe.Writer.WriteAsync(bytes).AsTask();

        public override Task EndAsync() => _pipe.Writer.CompleteAsync().AsTask();

        public override ValueTask DisposeAsync() => default;
    }

    private sealed class OfSocket : ReaderUnderTest
    {
        private readonly EpollLoop _loop = new();
        private readonly BufferPool _buffers = new();
        private readonly SocketDuplexPipe _pipe;
        private readonly Socket _peer;

        public OfSocket(Socket socket, Socket peer)
        {
            _peer = peer;
            _pipe = new SocketDuplexPipe(_loop, DescriptorOf.Take(socket), _buffers);
            Assert.Equal(0, _pipe.Register());
        }

        public override PipeReader Reader => _pipe.Input;

        public override async Task WriteAsync(ReadOnlyMemory<byte> bytes)
        {
            for (var sent = 0; sent < bytes.Length;)
            {
                sent += await _peer.SendAsync(bytes[sent..]);
            }
        }

        public override Task EndAsync()
        {
            _peer.Shutdown(SocketShutdown.Send);
            return Task.CompletedTask;
        }

        public override async ValueTask DisposeAsync()
        {
            await _pipe.CloseAsync();
            Assert.Equal(0, _buffers.Outstanding);
            _peer.Dispose();
            _loop.Dispose();
        }
    }
}
