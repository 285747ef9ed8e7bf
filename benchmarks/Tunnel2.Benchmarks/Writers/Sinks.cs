using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Benchmarks.Writers;

/// <summary>Takes everything at once: what is measured is the writer alone.</summary>
internal sealed class NullSink : IFrameSink
{
    public ValueTask SendAsync(ReadOnlyMemory<byte> bytes) => default;

    public ValueTask DisposeAsync() => default;
}

/// <summary>A TCP connection over loopback, whose other end reads and forgets on a thread of its own.</summary>
internal sealed class TcpSink : IFrameSink
{
    private readonly Socket _sender;
    private readonly Socket _receiver;

    public TcpSink()
    {
        using var listener = new Socket(SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.IPv6Loopback, 0));
        listener.Listen(1);
        _sender = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        _sender.Connect(listener.LocalEndPoint!);
        _receiver = listener.Accept();
        new Thread(Drain) { IsBackground = true }.Start();
    }

    public async ValueTask SendAsync(ReadOnlyMemory<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            bytes = bytes[await _sender.SendAsync(bytes, SocketFlags.None).ConfigureAwait(false)..];
        }
    }

    public ValueTask DisposeAsync()
    {
        _sender.Dispose();
        return default;
    }

    private void Drain()
    {
        var buffer = new byte[1024 * 1024];
        while (_receiver.Receive(buffer) > 0)
        {
            // Only taken out of the way.
        }

        _receiver.Dispose();
    }
}
