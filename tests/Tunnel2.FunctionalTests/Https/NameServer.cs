using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Tunnel2.FunctionalTests.Https;

/// <summary>
/// A name server for one test (RFC 1035, over UDP): every name has the address 127.0.0.1, and the TXT records that a file lists, as
/// <c>NAME VALUE</c> lines.
/// </summary>
internal sealed class NameServer : IAsyncDisposable
{
    private const int Header = 12;
    private const ushort TypeA = 1;
    private const ushort TypeTxt = 16;

    private readonly Socket _socket = new(SocketType.Dgram, ProtocolType.Udp);
    private readonly string _records;
    private readonly Task _serving;

    private NameServer(string records)
    {
        _records = records;
        _socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _serving = ServeAsync();
    }

    public int Port => ((IPEndPoint)_socket.LocalEndPoint!).Port;

    public static NameServer Start(string records) => new(records);

    public async ValueTask DisposeAsync()
    {
        _socket.Dispose();
        await _serving;
    }

    private async Task ServeAsync()
    {
        var buffer = new byte[2048];
        try
        {
            while (true)
            {
                var asked = await _socket.ReceiveFromAsync(buffer, new IPEndPoint(IPAddress.Loopback, 0));
                await _socket.SendToAsync(Answer(buffer.AsSpan(0, asked.ReceivedBytes)), asked.RemoteEndPoint);
            }
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // The test is over.
        }
    }

    private byte[] Answer(ReadOnlySpan<byte> query)
    {
        var labels = new List<string>();
        var position = Header;
        for (; query[position] != 0; position += query[position] + 1)
        {
            labels.Add(Encoding.ASCII.GetString(query.Slice(position + 1, query[position])).ToLowerInvariant());
        }

        var type = BinaryPrimitives.ReadUInt16BigEndian(query[(position + 1)..]);
        var question = query[Header..(position + 5)].ToArray();
        byte[][] records = type switch
        {
            TypeA => [[127, 0, 0, 1]],
            TypeTxt =>
            [
                .. Texts(string.Join('.', labels)).Select(static text => (byte[])[(byte)text.Length, .. Encoding.ASCII.GetBytes(text)]),
            ],
            _ => [],
        };

        // The id; an answer with authority and without an error; one question; so many answers.
        return
        [
            query[0], query[1], 0x85, 0x80, 0, 1, 0, (byte)records.Length, 0, 0, 0, 0, .. question,
            .. records.SelectMany(data =>
                (byte[])[0xC0, Header, (byte)(type >> 8), (byte)type, 0, 1, 0, 0, 0, 1, 0, (byte)data.Length, .. data]),
        ];
    }

    private IEnumerable<string> Texts(string name) => !File.Exists(_records)
        ? []
        : File.ReadAllLines(_records).Select(static line => line.Split(' ')).Where(line => line[0] == name).Select(static line => line[1]);
}
