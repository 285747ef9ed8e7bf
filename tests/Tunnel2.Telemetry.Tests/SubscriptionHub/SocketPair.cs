using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Text.Json;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

/// <summary>Two connected sockets; the far one reads the hub's frames.</summary>
internal sealed class SocketPair : IDisposable
{
    private readonly byte[] _buffer = new byte[1 << 20];
    private int _start;
    private int _end;

    internal SocketPair(int receiveBuffer = 0)
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(1);
        Far = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        if (receiveBuffer > 0)
        {
            Far.ReceiveBufferSize = receiveBuffer;
        }

        Far.ReceiveTimeout = 20_000;
        Far.Connect(listener.LocalEndPoint!);
        Near = listener.Accept();
        if (receiveBuffer > 0)
        {
            Near.SendBufferSize = receiveBuffer;
        }
    }

    internal Socket Near { get; }

    internal Socket Far { get; }

    /// <summary>The next frame; opcode −1 at the end of the connection.</summary>
    internal (int Opcode, byte[] Payload) ReadFrame()
    {
        while (true)
        {
            Span<byte> data = _buffer.AsSpan(_start, _end - _start);
            int head = data.Length < 2 ? 2 : data[1] switch { 126 => 4, 127 => 10, _ => 2 };
            int length = data.Length < head ? int.MaxValue / 2 : data[1] switch
            {
                126 => (data[2] << 8) | data[3],
                127 => (data[6] << 24) | (data[7] << 16) | (data[8] << 8) | data[9],
                _ => data[1],
            };
            if (data.Length >= head + length)
            {
                byte[] payload = data.Slice(head, length).ToArray();
                int opcode = data[0] & 15;
                _start += head + length;
                return (opcode, payload);
            }

            data.CopyTo(_buffer);
            _end -= _start;
            _start = 0;
            int read = Receive();
            if (read == 0)
            {
                return (-1, []);
            }

            _end += read;
        }
    }

    /// <summary>The next text frame, or null when a close frame or the end comes first.</summary>
    internal JsonElement? ReadText()
    {
        (int opcode, byte[] payload) = ReadFrame();
        return opcode == 1 ? JsonDocument.Parse(Encoding.UTF8.GetString(payload)).RootElement.Clone() : null;
    }

    /// <summary>Reads all bytes there are, up to the end of the connection.</summary>
    internal void ReadToEnd()
    {
        do
        {
            _start = 0;
            _end = 0;
        }
        while (Receive() > 0);
    }

    public void Dispose()
    {
        Far.Dispose();
        Near.Dispose();
    }

    private int Receive()
    {
        try
        {
            return Far.Receive(_buffer, _end, _buffer.Length - _end, SocketFlags.None);
        }
        catch (SocketException e) when (e.SocketErrorCode == SocketError.ConnectionReset)
        {
            return 0;
        }
    }
}
