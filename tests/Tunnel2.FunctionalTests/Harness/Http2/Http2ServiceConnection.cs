using System.Buffers.Binary;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Harness.Http2;

/// <summary>
/// A connection of a service that speaks HTTP/2 frame by frame: it sends what the test says, also what no server would. One reader and one
/// writer at a time.
/// </summary>
internal sealed class Http2ServiceConnection
{
    private const int Preface = 24;
    private const byte EndStream = 1;
    private const byte EndHeaders = 4;

    private readonly RawConnection _connection;

    private Http2ServiceConnection(RawConnection connection)
    {
        _connection = connection;
    }

    /// <summary>What to do with each connection of a raw server, by its number from 0; it stays open until the agent ends it.</summary>
    /// <param name="serve">The test's code.</param>
    /// <param name="settings">The payload of the SETTINGS that come first.</param>
    public static Func<RawConnection, Task> Serving(Func<Http2ServiceConnection, int, Task> serve, byte[]? settings = null)
    {
        var number = -1;
        return async connection =>
        {
            var service = new Http2ServiceConnection(connection);
            var mine = Interlocked.Increment(ref number);
            Assert.Equal("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8.ToArray(), await connection.ReadExactlyAsync(Preface));
            await service.WriteAsync(4, 0, 0, settings ?? []);
            await serve(service, mine);
            await connection.WaitForEndAsync();
        };
    }

    /// <summary>The bytes of a frame.</summary>
    public static byte[] Frame(byte type, byte flags, int id, ReadOnlySpan<byte> payload)
    {
        var frame = new byte[9 + payload.Length];
        BinaryPrimitives.WriteInt32BigEndian(frame, payload.Length << 8);
        frame[3] = type;
        frame[4] = flags;
        BinaryPrimitives.WriteInt32BigEndian(frame.AsSpan(5), id);
        payload.CopyTo(frame.AsSpan(9));
        return frame;
    }

    /// <summary>Four bytes.</summary>
    public static byte[] Number(uint value)
    {
        var bytes = new byte[4];
        BinaryPrimitives.WriteUInt32BigEndian(bytes, value);
        return bytes;
    }

    public Task WriteAsync(byte type, byte flags, int id, byte[] payload) => _connection.WriteAsync(Frame(type, flags, id, payload));

    public Task WriteAsync(byte[] bytes) => _connection.WriteAsync(bytes);

    /// <summary>Sends a head or trailers.</summary>
    public Task RespondAsync(int id, bool end, params (string Name, string Value)[] fields) =>
        WriteAsync(1, (byte)(EndHeaders | (end ? EndStream : 0)), id, PlainHpack.Encode(fields));

    /// <summary>Sends a whole answer.</summary>
    public async Task AnswerAsync(int id, string body = "well")
    {
        await RespondAsync(id, end: false, (":status", "200"));
        await WriteAsync(0, EndStream, id, System.Text.Encoding.Latin1.GetBytes(body));
    }

    public Task ResetAsync(int id, uint code) => WriteAsync(3, 0, id, Number(code));

    /// <summary>Ends the connection in order, but not its streams.</summary>
    public Task CloseAsync() => _connection.CloseAsync();

    /// <summary>Reads the next frame.</summary>
    public async Task<Http2Frame> ReadFrameAsync()
    {
        var header = await _connection.ReadExactlyAsync(9);
        var length = BinaryPrimitives.ReadInt32BigEndian(header) >> 8;
        return new Http2Frame(
            header[3],
            header[4],
            BinaryPrimitives.ReadInt32BigEndian(header.AsSpan(5)),
            length == 0 ? [] : await _connection.ReadExactlyAsync(length));
    }

    /// <summary>Reads frames up to one that is wanted.</summary>
    public async Task<Http2Frame> ReadUntilAsync(Func<Http2Frame, bool> isWanted)
    {
        while (true)
        {
            var frame = await ReadFrameAsync();
            if (isWanted(frame))
            {
                return frame;
            }
        }
    }

    /// <summary>Reads up to the next request's head.</summary>
    public async Task<Http2ServiceRequest> ReadRequestAsync()
    {
        var frame = await ReadUntilAsync(static frame => frame.Type == 1);
        return new Http2ServiceRequest(frame.Id, PlainHpack.Decode(frame.Payload), (frame.Flags & EndStream) != 0);
    }

    /// <summary>Reads a request's body, and its trailers.</summary>
    public async Task<(byte[] Body, List<(string Name, string Value)> Trailers)> ReadBodyAsync(int id)
    {
        using var body = new MemoryStream();
        while (true)
        {
            var frame = await ReadUntilAsync(frame => frame.Id == id && frame.Type is 0 or 1);
            if (frame.Type == 1)
            {
                return (body.ToArray(), PlainHpack.Decode(frame.Payload));
            }

            body.Write(frame.Payload);
            if ((frame.Flags & EndStream) != 0)
            {
                return (body.ToArray(), []);
            }

            var credit = Number((uint)frame.Payload.Length);
            await WriteAsync([.. Frame(8, 0, 0, credit), .. Frame(8, 0, id, credit)]);
        }
    }

    /// <summary>Reads up to a GOAWAY, and returns its code.</summary>
    public async Task<uint> ReadGoAwayAsync() =>
        BinaryPrimitives.ReadUInt32BigEndian((await ReadUntilAsync(static frame => frame.Type == 7)).Payload.AsSpan(4));

    /// <summary>Reads up to a RST_STREAM, and returns its code.</summary>
    public async Task<uint> ReadResetAsync(int id) =>
        BinaryPrimitives.ReadUInt32BigEndian((await ReadUntilAsync(frame => frame.Type == 3 && frame.Id == id)).Payload);
}

/// <summary>A frame as it came.</summary>
internal sealed record Http2Frame(byte Type, byte Flags, int Id, byte[] Payload);

/// <summary>A request's head at a service.</summary>
internal sealed record Http2ServiceRequest(int Id, List<(string Name, string Value)> Fields, bool IsWhole)
{
    public string? this[string name] => Fields.Where(field => field.Name == name).Select(static field => field.Value).SingleOrDefault();
}
