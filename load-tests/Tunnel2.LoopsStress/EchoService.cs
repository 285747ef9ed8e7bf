using System.Diagnostics.CodeAnalysis;
using System.Security.Cryptography;
using System.Text;
using Tunnel2.TestUtilities;

namespace Tunnel2.LoopsStress;

/// <summary>The service behind a name: answers say what they are for.</summary>
internal sealed class EchoService(string name, Tally tally)
{
    private const int PieceLength = 9_000;

    /// <summary>Serves a connection of the agent.</summary>
    public async Task ServeAsync(RawConnection connection)
    {
        while (true)
        {
            var head = await connection.ReadHeadAsync();
            if (head["Host"] is not { } host || !host.StartsWith(name + ".", StringComparison.Ordinal))
            {
                tally.Wrong($"The service of {name} got a request for {head["Host"]}.");
            }

            if (head.Target == "/ws")
            {
                await ServeWebSocketAsync(connection, head);
                return;
            }

            var body = await connection.ReadBodyAsync(head, head.Method);
            if (body.Ending != ConnectionEnding.Complete)
            {
                // The visitor has left in the middle.
                return;
            }

            if (!Question.IsBody(head.Target, body.Bytes))
            {
                tally.Wrong($"The body of {head.Target} came to {name} with other bytes.");
            }

            await AnswerAsync(connection, head.Target, Question.Answer(name, head.Target, body.Bytes.Length));
        }
    }

    private static async Task AnswerAsync(RawConnection connection, string target, byte[] answer)
    {
        if (target.Contains("/l/", StringComparison.Ordinal))
        {
            byte[] head = [.. Encoding.ASCII.GetBytes($"HTTP/1.1 200 OK\r\nContent-Length: {answer.Length}\r\n\r\n")];
            await connection.WriteAsync((byte[])[.. head, .. answer]);
            return;
        }

        await connection.WriteAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (var sent = 0; sent < answer.Length; sent += PieceLength)
        {
            var piece = answer.AsMemory(sent, Math.Min(PieceLength, answer.Length - sent));
            await connection.WriteAsync((byte[])[.. Encoding.ASCII.GetBytes($"{piece.Length:x}\r\n"), .. piece.Span, .. "\r\n"u8]);
        }

        await connection.WriteAsync("0\r\n\r\n");
    }

    /// <summary>Sends every frame back, without its mask.</summary>
    [SuppressMessage("Security", "CA5350", Justification = "RFC 6455 says SHA-1.")]
    private static async Task ServeWebSocketAsync(RawConnection connection, RawHttpHead head)
    {
        var accepted = Encoding.ASCII.GetBytes(head["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
        var accept = Convert.ToBase64String(SHA1.HashData(accepted));
        await connection.WriteAsync(
            $"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {accept}\r\n\r\n");
        while (true)
        {
            var start = await connection.ReadExactlyAsync(2);
            var length = start[1] & 0x7F;
            var more = length == 126 ? 2 : length == 127 ? 8 : 0;
            byte[] extended = more > 0 ? await connection.ReadExactlyAsync(more) : [];
            var count = length < 126 ? length : (int)extended.Aggregate(0L, static (sum, part) => (sum << 8) | part);
            var mask = await connection.ReadExactlyAsync(4);
            var payload = await connection.ReadExactlyAsync(count);
            for (var i = 0; i < count; i++)
            {
                payload[i] ^= mask[i % 4];
            }

            await connection.WriteAsync((byte[])[start[0], (byte)length, .. extended, .. payload]);
            if ((start[0] & 0x0F) == 8)
            {
                return;
            }
        }
    }
}
