using System.Net.WebSockets;

namespace Tunnel2.LoopsStress;

/// <summary>A visitor with a WebSocket: every message comes back as it was.</summary>
internal sealed class WebSocketVisitor(int seed, StressTunnel tunnel, Tally tally) : Visitor("WebSocket", seed, tunnel, tally)
{
    protected override async Task VisitAsync(CancellationToken stop)
    {
        using var socket = new ClientWebSocket();
        socket.Options.SetRequestHeader("Host", $"{Tunnel.Names[Random.Next(Tunnel.Names.Count)]}.localhost");
        await socket.ConnectAsync(new Uri($"ws://{Http}/ws"), CancellationToken.None).WaitAsync(Patience, CancellationToken.None);
        var buffer = new byte[64 * 1024];
        for (var turns = Random.Next(1, 200); turns > 0 && !stop.IsCancellationRequested; turns--)
        {
            var message = new byte[Random.Next(5) == 0 ? Random.Next(1, 60_000) : Random.Next(1, 500)];
            Random.NextBytes(message);
            await socket.SendAsync(message, WebSocketMessageType.Binary, endOfMessage: true, CancellationToken.None)
                .WaitAsync(Patience, CancellationToken.None);
            if (Random.Next(150) == 0)
            {
                socket.Abort();
                Tally.Failed(Kind, "left");
                return;
            }

            var received = 0;
            while (true)
            {
                var result = await socket.ReceiveAsync(buffer.AsMemory(received), CancellationToken.None).AsTask()
                    .WaitAsync(Patience, CancellationToken.None);
                if (result.MessageType == WebSocketMessageType.Close)
                {
                    Tally.Failed(Kind, $"closed with {(int?)socket.CloseStatus}");
                    await socket.CloseOutputAsync(WebSocketCloseStatus.NormalClosure, null, CancellationToken.None)
                        .WaitAsync(Patience, CancellationToken.None);
                    return;
                }

                received += result.Count;
                if (result.EndOfMessage)
                {
                    break;
                }
            }

            if (buffer.AsSpan(0, received).SequenceEqual(message))
            {
                Tally.Right(Kind);
            }
            else
            {
                Tally.Wrong($"WebSocket: a message of {message.Length} bytes came back as {received} other ones");
            }
        }

        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, CancellationToken.None)
            .WaitAsync(Patience, CancellationToken.None);
    }
}
