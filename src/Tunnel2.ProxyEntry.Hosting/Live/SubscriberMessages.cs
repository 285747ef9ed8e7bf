using System.Buffers;
using System.Text.Json;
using Tunnel2.ProxyEntry.WebSockets;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>Reads and answers a subscriber's messages (RFC 6455 frames) until it leaves. Stateless.</summary>
internal static class SubscriberMessages
{
    /// <summary>Handles them all, and removes the client at the end.</summary>
    /// <param name="stream">What comes from the subscriber.</param>
    /// <param name="hub">The hub.</param>
    /// <param name="client">The subscriber's place there.</param>
    public static async Task HandleAllAsync(Stream stream, Hub hub, HubClient client)
    {
        using var frames = new ClientFrameReader();
        try
        {
            while (await ReceiveAsync(stream, frames).ConfigureAwait(false))
            {
                if (!client.IsClosing)
                {
                    client.OnHeard();
                    await HandleAllAsync(hub, client, frames).ConfigureAwait(false);
                    frames.ReleaseIfEmpty();
                }

                if (client.IsClosing)
                {
                    // From here on the code only waits for the end.
                    frames.Dispose();
                }
            }
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException or ObjectDisposedException)
        {
            // The subscriber has left.
        }
        finally
        {
            hub.Remove(client);
        }
    }

    /// <summary>
    /// Begins with an empty read, so that a silent subscriber holds no buffer; then leaves the thread that received the bytes.
    /// </summary>
    private static async ValueTask<bool> ReceiveAsync(Stream stream, ClientFrameReader frames)
    {
        await stream.ReadAsync(Memory<byte>.Empty).ConfigureAwait(false);
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        var length = await stream.ReadAsync(frames.GetMemory()).ConfigureAwait(false);
        frames.Advance(length);
        return length > 0;
    }

    private static async ValueTask HandleAllAsync(Hub hub, HubClient client, ClientFrameReader frames)
    {
        while (!client.IsClosing)
        {
            ClientMessage message;
            var kind = frames.TryRead(out var payload);
            if (kind == ClientFrameKind.Incomplete)
            {
                return;
            }

            if (kind is ClientFrameKind.Text or ClientFrameKind.Ping && !client.TryTakeInbound())
            {
                client.Close(1008, "too many messages");
                return;
            }

            switch (kind)
            {
                case ClientFrameKind.Text:
                    message = ClientMessage.Parse(payload);
                    break;
                case ClientFrameKind.Ping:
                    client.Enqueue(WebSocketFrame.Control(WebSocketFrame.Pong, payload));
                    continue;
                case ClientFrameKind.Pong:
                    continue;
                case ClientFrameKind.Close:
                    client.Close(1000, "");
                    return;
                case ClientFrameKind.TooBig:
                    client.Close(1009, "a message has at most 4096 bytes");
                    return;
                case ClientFrameKind.Binary:
                    client.Close(1003, "only text is understood");
                    return;
                default:
                    client.Close(1002, "not the WebSocket protocol");
                    return;
            }

            await ActAsync(hub, client, message).ConfigureAwait(false);
        }
    }

    private static async ValueTask ActAsync(Hub hub, HubClient client, ClientMessage message)
    {
        switch (message.Op)
        {
            case "subscribe":
                var status = await hub.SubscribeAsync(
                    client, message.Channel!, () => Answer(client, "subscribed", message)).ConfigureAwait(false);
                if (status != SubscribeStatus.Subscribed)
                {
                    Answer(client, "error", message, status switch
                    {
                        SubscribeStatus.TooMany => "too-many-subscriptions",
                        _ => "invalid-channel",
                    });
                }

                break;
            case "unsubscribe":
                var ended = hub.Unsubscribe(client, message.Channel!);
                Answer(client, ended ? "unsubscribed" : "error", message, ended ? null : "not-subscribed");
                break;
            case "ping":
                Answer(client, "pong", message);
                break;
            default:
                Answer(client, "error", message, message.Mistake);
                break;
        }
    }

    private static void Answer(HubClient client, string type, ClientMessage message, string? code = null)
    {
        var buffer = new ArrayBufferWriter<byte>(128);
        using (var json = new Utf8JsonWriter(buffer))
        {
            json.WriteStartObject();
            json.WriteString("type", type);
            if (code is not null)
            {
                json.WriteString("code", code);
            }

            if (message.Channel is not null)
            {
                json.WriteString("channel", message.Channel);
            }

            if (message.Id is not null)
            {
                json.WriteString("id", message.Id);
            }

            json.WriteEndObject();
        }

        client.Enqueue(WebSocketFrame.FromText(buffer.WrittenSpan));
    }
}
