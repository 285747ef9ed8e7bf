using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Text.Json;
using System.Threading.Channels;

namespace Tunnel2.Ancestor;

/// <summary>The agent: sends each request with an <see cref="HttpClient"/>, and writes each part of the answer to the uplink.</summary>
internal sealed class AncestorAgent(AncestorUplink uplink, HttpClient client, IPEndPoint backend)
{
    private const int Chunk = 8 * 1024;

    private readonly ConcurrentDictionary<int, Channel<byte[]>> _bodies = new();

    /// <summary>Serves a session for each name, each on a connection of its own. Prints "Ready NAME" for each.</summary>
    public static async Task RunAsync(IPEndPoint server, IPEndPoint backend, IReadOnlyList<string> names, CancellationToken stop)
    {
        using var handler = new SocketsHttpHandler { UseProxy = false, AllowAutoRedirect = false, UseCookies = false };
        using var client = new HttpClient(handler);
        await Task.WhenAll(names.Select(name => RunOneAsync(name, server, backend, client, stop)));
    }

    private static async Task RunOneAsync(string name, IPEndPoint server, IPEndPoint backend, HttpClient client, CancellationToken stop)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await socket.ConnectAsync(server, stop);
        using var uplink = new AncestorUplink(socket);
        await uplink.WriteAsync(FrameKind.Hello, 0, Encoding.UTF8.GetBytes(name), stop);
        await uplink.ReadAsync(stop);
        Console.WriteLine($"Ready {name}");
        await new AncestorAgent(uplink, client, backend).ReadAsync(stop);
    }

    private async Task ReadAsync(CancellationToken stop)
    {
        while (true)
        {
            var (kind, stream, payload) = await uplink.ReadAsync(stop);
            switch (kind)
            {
                case FrameKind.OpenRequest:
                    var body = Channel.CreateUnbounded<byte[]>();
                    _bodies[stream] = body;
                    _ = Task.Run(() => ExchangeAsync(stream, JsonSerializer.Deserialize<Head>(payload)!, body.Reader, stop), stop);
                    break;
                case FrameKind.DataRequest when _bodies.TryGetValue(stream, out var open):
                    open.Writer.TryWrite(payload);
                    break;
                case FrameKind.CloseRequest when _bodies.TryRemove(stream, out var complete):
                    complete.Writer.TryComplete();
                    break;
            }
        }
    }

    private async Task ExchangeAsync(int stream, Head head, ChannelReader<byte[]> body, CancellationToken stop)
    {
        try
        {
            using var request = MakeRequest(head, body);
            using var response = await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, stop);
            var headers = response.Headers.Concat(response.Content.Headers)
                .Where(static header => !Head.IsOfConnection(header.Key))
                .SelectMany(static header => header.Value.Select(value => KeyValuePair.Create(header.Key, value)));
            var answer = new Head("", "", (int)response.StatusCode, [.. headers]);
            await uplink.WriteAsync(FrameKind.OpenResponse, stream, JsonSerializer.SerializeToUtf8Bytes(answer), stop);
            using var content = await response.Content.ReadAsStreamAsync(stop);
            var buffer = new byte[Chunk];
            while (await content.ReadAsync(buffer, stop) is > 0 and var count)
            {
                await uplink.WriteAsync(FrameKind.DataResponse, stream, buffer.AsMemory(0, count), stop);
            }

            await uplink.WriteAsync(FrameKind.CloseResponse, stream, default, stop);
        }
        catch (Exception e) when (e is HttpRequestException or IOException)
        {
            await AbortAsync(stream, stop);
        }
        catch (OperationCanceledException)
        {
            // The program ends.
        }
    }

    private HttpRequestMessage MakeRequest(Head head, ChannelReader<byte[]> body)
    {
        var request = new HttpRequestMessage(new HttpMethod(head.Method), $"http://{backend}{head.Target}");
        if (head.Headers.Any(static header => header.Key.StartsWith("Content-", StringComparison.OrdinalIgnoreCase)))
        {
            request.Content = new ChannelContent(body);
        }

        foreach (var (name, value) in head.Headers)
        {
            if (!request.Headers.TryAddWithoutValidation(name, value))
            {
                request.Content?.Headers.TryAddWithoutValidation(name, value);
            }
        }

        return request;
    }

    private async Task AbortAsync(int stream, CancellationToken stop)
    {
        try
        {
            await uplink.WriteAsync(FrameKind.Abort, stream, default, stop);
        }
        catch (Exception e) when (e is IOException or OperationCanceledException)
        {
            // The uplink is lost, and the server sees that by itself.
        }
    }

    /// <summary>A request's body, part by part as it comes from the uplink.</summary>
    private sealed class ChannelContent(ChannelReader<byte[]> parts) : HttpContent
    {
        protected override async Task SerializeToStreamAsync(Stream stream, TransportContext? context)
        {
            await foreach (var part in parts.ReadAllAsync())
            {
                await stream.WriteAsync(part);
            }
        }

        protected override bool TryComputeLength(out long length)
        {
            // Where the visitor gave it, it is in the headers.
            length = -1;
            return false;
        }
    }
}
