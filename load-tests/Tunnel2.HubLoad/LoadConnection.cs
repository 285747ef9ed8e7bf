using System.Buffers.Text;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Tunnel2.HubLoad;

/// <summary>One subscriber over a raw socket, which checks every message that comes: its channel, its number, and when it came.</summary>
internal sealed class LoadConnection : IDisposable
{
    private readonly Socket _socket;
    private readonly Dictionary<int, long> _last = [];
    private readonly LoadChecker _checker;
    private byte[] _buffer = new byte[1024];
    private int _end;
    private volatile bool _leaving;

    private LoadConnection(Socket socket, LoadChecker checker)
    {
        _socket = socket;
        _checker = checker;
    }

    /// <summary>The number of the last message, by channel.</summary>
    public IReadOnlyDictionary<int, long> Last => _last;

    public int Snapshots { get; private set; }

    /// <summary>How many times the hub has paused it.</summary>
    public int Pauses { get; private set; }

    /// <summary>How many times the hub has let it continue.</summary>
    public int Resumes { get; private set; }

    /// <summary>Connects from one of several loopback addresses and takes the handshake.</summary>
    /// <param name="port">The server's port.</param>
    /// <param name="source">Chooses the address.</param>
    /// <param name="checker">Adds up what comes.</param>
    /// <param name="receiveBuffer">Bytes of the kernel's buffer; 0: as usual.</param>
    public static async Task<LoadConnection> ConnectAsync(int port, int source, LoadChecker checker, int receiveBuffer = 0)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            if (receiveBuffer > 0)
            {
                socket.ReceiveBufferSize = receiveBuffer;
            }

            socket.Bind(new IPEndPoint(new IPAddress([127, 0, 1, (byte)(1 + (source % 32))]), 0));
            await socket.ConnectAsync(IPAddress.Loopback, port);
            await socket.SendAsync(Encoding.ASCII.GetBytes(
                "GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"));
            var connection = new LoadConnection(socket, checker);
            int head;
            while ((head = connection._buffer.AsSpan(0, connection._end).IndexOf("\r\n\r\n"u8)) < 0)
            {
                await connection.ReceiveAsync();
            }

            if (!connection._buffer.AsSpan().StartsWith("HTTP/1.1 101"u8))
            {
                // Each refusal is a line of text.
                while (connection._end == head + 4 || connection._buffer[connection._end - 1] != (byte)'\n')
                {
                    await connection.ReceiveAsync();
                }

                _ = Utf8Parser.TryParse(connection._buffer.AsSpan("HTTP/1.1 ".Length), out int status, out _);
                throw new RefusedException(status, Encoding.ASCII.GetString(connection._buffer, head + 4, connection._end - head - 4));
            }

            connection.Consume(head + 4);
            return connection;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>Subscribes to all its channels; called once.</summary>
    public async Task SubscribeAsync(params int[] channels)
    {
        // All of them before the first message can come, because the reader searches them.
        foreach (int channel in channels)
        {
            _last.Add(channel, -1);
        }

        try
        {
            foreach (int channel in channels)
            {
                byte[] text = Encoding.ASCII.GetBytes($$"""{"op":"subscribe","channel":"load.{{channel}}"}""");
                byte[] frame = [0x81, (byte)(0x80 | text.Length), 0, 0, 0, 0, .. text];
                await _socket.SendAsync(frame);
            }
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // The reader finds the connection's end, too, and counts it.
        }
    }

    /// <summary>Leaves without a word, as a browser does whose page is closed. This is not an end that counts as a fault.</summary>
    public void Leave()
    {
        _leaving = true;
        _socket.Dispose();
    }

    /// <summary>Reads until a snapshot has come, and then no more.</summary>
    public async Task ReadUntilSnapshotAsync()
    {
        while (Snapshots == 0)
        {
            TakeFrames();
            if (Snapshots == 0)
            {
                await ReceiveAsync();
            }
        }
    }

    /// <summary>Reads until the connection ends.</summary>
    public async Task ReadAllAsync()
    {
        try
        {
            while (true)
            {
                TakeFrames();
                await ReceiveAsync();
            }
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException or IOException)
        {
            if (!_leaving)
            {
                _checker.Ended();
            }
        }
    }

    public void Dispose() => _socket.Dispose();

    private async Task ReceiveAsync()
    {
        if (_end == _buffer.Length)
        {
            Array.Resize(ref _buffer, _end * 4);
        }

        int read = await _socket.ReceiveAsync(_buffer.AsMemory(_end));
        if (read == 0)
        {
            throw new IOException("ended");
        }

        _end += read;
    }

    private void Consume(int length)
    {
        _buffer.AsSpan(length, _end - length).CopyTo(_buffer);
        _end -= length;
    }

    /// <summary>Takes all frames that are complete.</summary>
    private void TakeFrames()
    {
        long now = Stopwatch.GetTimestamp();
        int at = 0;
        while (true)
        {
            ReadOnlySpan<byte> data = _buffer.AsSpan(at, _end - at);
            int head = data.Length < 2 ? 2 : data[1] == 126 ? 4 : 2;
            if (data.Length < head)
            {
                break;
            }

            int length = head == 4 ? (data[2] << 8) | data[3] : data[1];
            if (data.Length < head + length)
            {
                break;
            }

            if ((data[0] & 15) == 9)
            {
                _socket.Send([0x8A, 0x80, 0, 0, 0, 0]);
            }
            else
            {
                Take(data.Slice(head, length), now);
            }

            at += head + length;
        }

        if (at > 0)
        {
            Consume(at);
        }
    }

    private void Take(ReadOnlySpan<byte> json, long now)
    {
        if (json.StartsWith("{\"type\":\"subscribed\""u8))
        {
            return;
        }

        if (json.StartsWith("{\"type\":\"paused\""u8))
        {
            Pauses++;
            return;
        }

        if (json.StartsWith("{\"type\":\"resumed\""u8))
        {
            Resumes++;
            return;
        }

        bool isSnapshot = json.StartsWith("{\"type\":\"snapshot\""u8);
        if (!isSnapshot && !json.StartsWith("{\"type\":\"message\""u8))
        {
            _checker.Other(Encoding.ASCII.GetString(json));
            return;
        }

        int channel = (int)Number(json, "\"channel\":\"load."u8);
        long seq = Number(json, "\"seq\":"u8);
        if (!_last.TryGetValue(channel, out long last))
        {
            _checker.Misrouted();
            return;
        }

        if (isSnapshot)
        {
            Snapshots++;
        }
        else if (seq != last + 1)
        {
            _checker.Hole(seq - last - 1);
        }

        _last[channel] = seq;
        if (!isSnapshot)
        {
            _checker.Delivered(now - Number(json, "\"due\":"u8));
        }
    }

    private static long Number(ReadOnlySpan<byte> json, ReadOnlySpan<byte> name)
    {
        int at = json.IndexOf(name);
        return at >= 0 && Utf8Parser.TryParse(json[(at + name.Length)..], out long value, out _) ? value : -1;
    }
}
