using System.Buffers.Binary;
using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Text;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>How an exchange over HTTP/2 ended: with a status, or with the stream's or the connection's error code.</summary>
internal sealed record Http2Answer(int Status, IReadOnlyList<(string Name, string Value)> Fields, string Body, int? Reset, int? GoAway)
{
    public string? this[string name] => Fields.Where(field => field.Name == name).Select(static field => field.Value).FirstOrDefault();
}

/// <summary>A visitor that writes HTTP/2 by hand, also what no client would: names, values and trailers go out as they are given.</summary>
internal sealed class Http2HeadVisitor : IAsyncDisposable
{
    private const int Data = 0;
    private const int Headers = 1;
    private const int RstStream = 3;
    private const int Settings = 4;
    private const int Ping = 6;
    private const int GoAway = 7;
    private const int WindowUpdate = 8;
    private const int Continuation = 9;
    private const int EndStream = 1;
    private const int EndHeaders = 4;
    private const int Ack = 1;
    private const int MaxFrame = 16 * 1024;

    private readonly Stream _stream;
    private int _next = 1;
    private int? _goAway;

    private Http2HeadVisitor(Stream stream) => _stream = stream;

    [SuppressMessage("Security", "CA5359", Justification = "The certificate is made at the test's start; nobody can know it.")]
    [SuppressMessage("Reliability", "CA2000", Justification = "The visitor disposes of the stream.")]
    public static async Task<Http2HeadVisitor> ConnectAsync(IPEndPoint entry, bool isTls)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await socket.ConnectAsync(entry);
        Stream stream = new NetworkStream(socket, ownsSocket: true);
        if (isTls)
        {
            var tls = new SslStream(stream, leaveInnerStreamOpen: false, static (_, _, _, _) => true);
            await tls.AuthenticateAsClientAsync(new SslClientAuthenticationOptions { TargetHost = "web.localhost", ApplicationProtocols = [SslApplicationProtocol.Http2] });
            stream = tls;
        }

        var visitor = new Http2HeadVisitor(stream);
        await stream.WriteAsync("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8.ToArray());

        // No table of our own: each field of an answer is written out. A window that no answer of a test fills.
        await visitor.WriteFrameAsync(Settings, 0, 0, [0, 1, 0, 0, 0, 0, 0, 4, 0, 16, 0, 0]);
        return visitor;
    }

    /// <summary>Sends a request and reads its answer.</summary>
    public async Task<Http2Answer> ExchangeAsync(IEnumerable<(string Name, string Value)> fields, string? body = null, IEnumerable<(string Name, string Value)>? trailers = null)
    {
        var stream = await SendAsync(fields, body, trailers);
        return await ReadAsync(stream);
    }

    /// <summary>The fields of an ordinary request.</summary>
    public static (string Name, string Value)[] Request(bool isTls, string path = "/", string method = "GET", string authority = "web.localhost", params (string Name, string Value)[] fields) =>
        [(":method", method), (":scheme", isTls ? "https" : "http"), (":authority", authority), (":path", path), .. fields];

    /// <summary>Sends a request.</summary>
    /// <returns>Its stream.</returns>
    public async Task<int> SendAsync(IEnumerable<(string Name, string Value)> fields, string? body = null, IEnumerable<(string Name, string Value)>? trailers = null)
    {
        var stream = _next;
        _next += 2;
        try
        {
            await WriteBlockAsync(stream, fields, end: body is null && trailers is null);
            if (body is not null)
            {
                await WriteFrameAsync(Data, trailers is null ? EndStream : 0, stream, Encoding.Latin1.GetBytes(body));
            }

            if (trailers is not null)
            {
                await WriteBlockAsync(stream, trailers, end: true);
            }
        }
        catch (IOException)
        {
            // The peer has ended the connection; what it said before is still there to be read.
        }

        return stream;
    }

    /// <summary>Reads until a stream is over, or the connection.</summary>
    public async Task<Http2Answer> ReadAsync(int wanted)
    {
        using var limit = new CancellationTokenSource(TimeSpan.FromSeconds(20));
        var fields = new List<(string Name, string Value)>();
        var body = new StringBuilder();
        var block = new List<byte>();
        while (await ReadFrameAsync(limit.Token) is var (type, flags, stream, payload) && type >= 0)
        {
            switch (type)
            {
                case Settings or Ping when (flags & Ack) == 0:
                    await AcknowledgeAsync(type, payload);
                    break;
                case GoAway:
                    _goAway = BinaryPrimitives.ReadInt32BigEndian(payload.AsSpan(4));
                    break;
                case RstStream when stream == wanted:
                    return Answer(BinaryPrimitives.ReadInt32BigEndian(payload));
                case Headers or Continuation when stream == wanted:
                    block.AddRange(payload);
                    if ((flags & EndHeaders) != 0)
                    {
                        fields.AddRange(Decode([.. block]));
                        block.Clear();
                    }

                    break;
                case Data when stream == wanted:
                    body.Append(Encoding.Latin1.GetString(payload));
                    break;
                default:
                    break;
            }

            if (type is Headers or Data && stream == wanted && (flags & EndStream) != 0)
            {
                return Answer(null);
            }
        }

        return Answer(null);

        Http2Answer Answer(int? reset)
        {
            var status = fields.Where(static field => field.Name == ":status").Select(static field => int.Parse(field.Value, System.Globalization.CultureInfo.InvariantCulture)).FirstOrDefault();
            return new Http2Answer(status, fields, body.ToString(), reset, _goAway);
        }
    }

    /// <summary>Sends a request again and again and waits for no answer, as long as no more are missing than the server takes streams at once. Behind an exchange: it answers no settings.</summary>
    /// <param name="fields">The request.</param>
    /// <param name="count">How often.</param>
    /// <param name="answered">Counts the answers.</param>
    public async Task FloodAsync(IEnumerable<(string Name, string Value)> fields, int count, AsyncCounter answered)
    {
        const int AtOnce = 100;
        const int MostMissing = 1000;
        var block = Encode(fields);
        var first = _next;
        _next += 2 * count;

        // Credit for all that they answer.
        await WriteFrameAsync(WindowUpdate, 0, 0, [0x7F, 0, 0, 0]);
        var sending = Task.Run(async () =>
        {
            for (var sent = 0; sent < count; sent += AtOnce)
            {
                await answered.WaitForAsync(sent + AtOnce - MostMissing);
                var batch = Enumerable.Range(sent, AtOnce).SelectMany(i => MakeFrame(Headers, EndHeaders | EndStream, first + (2 * i), block)).ToArray();
                await _stream.WriteAsync(batch);
            }
        });
        var input = new BufferedStream(_stream, 64 * 1024);
        var head = new byte[9];
        for (var missing = count; missing > 0;)
        {
            await input.ReadExactlyAsync(head);
            var payload = new byte[head[0] << 16 | head[1] << 8 | head[2]];
            await input.ReadExactlyAsync(payload);
            Assert.True(head[3] is Data or Headers or WindowUpdate, $"A frame of type {head[3]}.");
            if (head[3] is Data or Headers && (head[4] & EndStream) != 0)
            {
                missing--;
                answered.Increment();
            }
        }

        await sending;
    }

    public ValueTask DisposeAsync() => _stream.DisposeAsync();

    private static byte[] Encode(IEnumerable<(string Name, string Value)> fields)
    {
        var block = new List<byte>();
        foreach (var (name, value) in fields)
        {
            // A literal that is not indexed, its name and value as they are.
            block.Add(0);
            AddString(block, name);
            AddString(block, value);
        }

        return [.. block];
    }

    private async Task WriteBlockAsync(int stream, IEnumerable<(string Name, string Value)> fields, bool end)
    {
        var bytes = Encode(fields);
        for (var at = 0; at == 0 || at < bytes.Length; at += MaxFrame)
        {
            var isLast = bytes.Length - at <= MaxFrame;
            var flags = (isLast ? EndHeaders : 0) | (at == 0 && end ? EndStream : 0);
            await WriteFrameAsync(at == 0 ? Headers : Continuation, flags, stream, bytes[at..Math.Min(bytes.Length, at + MaxFrame)]);
        }
    }

    private async Task AcknowledgeAsync(int type, byte[] payload)
    {
        try
        {
            await WriteFrameAsync(type, Ack, 0, type == Ping ? payload : []);
        }
        catch (IOException)
        {
            // The peer has ended the connection; what it said before is still there to be read.
        }
    }

    private async Task WriteFrameAsync(int type, int flags, int stream, byte[] payload) => await _stream.WriteAsync(MakeFrame(type, flags, stream, payload));

    private static byte[] MakeFrame(int type, int flags, int stream, byte[] payload)
    {
        var frame = new byte[9 + payload.Length];
        BinaryPrimitives.WriteInt32BigEndian(frame, payload.Length << 8 | type);
        frame[4] = (byte)flags;
        BinaryPrimitives.WriteInt32BigEndian(frame.AsSpan(5), stream);
        payload.CopyTo(frame, 9);
        return frame;
    }

    private async Task<(int Type, int Flags, int Stream, byte[] Payload)> ReadFrameAsync(CancellationToken cancellationToken)
    {
        var head = new byte[9];
        try
        {
            await _stream.ReadExactlyAsync(head, cancellationToken);
            var payload = new byte[head[0] << 16 | head[1] << 8 | head[2]];
            await _stream.ReadExactlyAsync(payload, cancellationToken);
            return (head[3], head[4], BinaryPrimitives.ReadInt32BigEndian(head.AsSpan(5)), payload);
        }
        catch (IOException)
        {
            return (-1, 0, 0, []);
        }
    }

    private static void AddString(List<byte> block, string text)
    {
        AddNumber(block, 0, 7, text.Length);
        block.AddRange(Encoding.Latin1.GetBytes(text));
    }

    private static void AddNumber(List<byte> block, int first, int bits, int number)
    {
        var most = (1 << bits) - 1;
        if (number < most)
        {
            block.Add((byte)(first | number));
            return;
        }

        block.Add((byte)(first | most));
        for (number -= most; number >= 128; number >>= 7)
        {
            block.Add((byte)(number | 128));
        }

        block.Add((byte)number);
    }

    private static IEnumerable<(string Name, string Value)> Decode(byte[] block)
    {
        var at = 0;
        while (at < block.Length)
        {
            var first = block[at];
            if ((first & 0x80) != 0)
            {
                var index = ReadNumber(block, ref at, 7);
                yield return (StaticTable.Name(index), StaticTable.Value(index));
            }
            else if ((first & 0xE0) == 0x20)
            {
                // The peer's table gets another size; it has none anyway.
                ReadNumber(block, ref at, 5);
            }
            else
            {
                var index = ReadNumber(block, ref at, (first & 0x40) != 0 ? 6 : 4);
                var name = index == 0 ? ReadString(block, ref at) : StaticTable.Name(index);
                yield return (name, ReadString(block, ref at));
            }
        }
    }

    private static int ReadNumber(byte[] block, ref int at, int bits)
    {
        var most = (1 << bits) - 1;
        var number = block[at++] & most;
        for (var shift = 0; number >= most || shift > 0; shift += 7)
        {
            var next = block[at++];
            number += (next & 127) << shift;
            if (next < 128)
            {
                break;
            }
        }

        return number;
    }

    private static string ReadString(byte[] block, ref int at)
    {
        Assert.Equal(0, block[at] & 0x80);
        var length = ReadNumber(block, ref at, 7);
        var text = Encoding.Latin1.GetString(block, at, length);
        at += length;
        return text;
    }

    /// <summary>RFC 7541 appendix A, as far as an answer uses it.</summary>
    private static class StaticTable
    {
        private static readonly string[] _names =
        [
            "", ":authority", ":method", ":method", ":path", ":path", ":scheme", ":scheme", ":status", ":status", ":status", ":status", ":status", ":status", ":status",
            "accept-charset", "accept-encoding", "accept-language", "accept-ranges", "accept", "access-control-allow-origin", "age", "allow", "authorization",
            "cache-control", "content-disposition", "content-encoding", "content-language", "content-length", "content-location", "content-range", "content-type",
            "cookie", "date", "etag", "expect", "expires", "from", "host", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since",
            "last-modified", "link", "location", "max-forwards", "proxy-authenticate", "proxy-authorization", "range", "referer", "refresh", "retry-after", "server",
            "set-cookie", "strict-transport-security", "transfer-encoding", "user-agent", "vary", "via", "www-authenticate",
        ];

        public static string Name(int index) => _names[index];

        public static string Value(int index) => index switch
        {
            8 => "200",
            9 => "204",
            10 => "206",
            11 => "304",
            12 => "400",
            13 => "404",
            14 => "500",
            _ => "",
        };
    }
}
