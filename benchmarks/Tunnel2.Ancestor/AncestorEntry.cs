using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Text.Json;
using System.Threading.Channels;

namespace Tunnel2.Ancestor;

/// <summary>
/// The server: middleware that writes each request to the uplink of its session, and passes on each part of the answer as it comes.
/// </summary>
internal sealed class AncestorEntry
{
    private const int Chunk = 8 * 1024;

    private readonly ConcurrentDictionary<string, Session> _sessions = new(StringComparer.OrdinalIgnoreCase);

    /// <summary>Serves until it is stopped. Prints "Ready" when it can be reached.</summary>
    public static async Task RunAsync(IPEndPoint visitors, IPEndPoint agents, CancellationToken stop)
    {
        var entry = new AncestorEntry();
        using var listener = new Socket(SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(agents);
        listener.Listen(512);
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.ConfigureKestrel(options =>
        {
            options.Listen(visitors);
            options.Limits.MaxRequestBodySize = null;
        });
        await using var app = builder.Build();
        app.Run(entry.ServeAsync);
        await app.StartAsync(stop);
        Console.WriteLine("Ready");
        while (true)
        {
            var socket = await listener.AcceptAsync(stop);
            socket.NoDelay = true;
            _ = entry.ServeAgentAsync(new AncestorUplink(socket), stop);
        }
    }

    private async Task ServeAgentAsync(AncestorUplink uplink, CancellationToken stop)
    {
        using var owned = uplink;
        Session? session = null;
        try
        {
            var (_, _, name) = await uplink.ReadAsync(stop);
            session = new Session(uplink);
            _sessions[Encoding.UTF8.GetString(name)] = session;
            await uplink.WriteAsync(FrameKind.Hello, 0, default, stop);
            while (true)
            {
                var (kind, stream, payload) = await uplink.ReadAsync(stop);
                if (session.Exchanges.TryGetValue(stream, out var exchange))
                {
                    exchange.Writer.TryWrite((kind, payload));
                }
            }
        }
        catch (Exception e) when (e is IOException or OperationCanceledException)
        {
            // The agent has left: its requests learn of it.
            foreach (var exchange in session?.Exchanges.Values ?? [])
            {
                exchange.Writer.TryComplete();
            }
        }
    }

    private async Task ServeAsync(HttpContext context)
    {
        if (!_sessions.TryGetValue(context.Request.Host.Host.Split('.')[0], out var session))
        {
            context.Response.StatusCode = StatusCodes.Status404NotFound;
            return;
        }

        var id = session.NextStream();
        var answer = Channel.CreateUnbounded<(FrameKind Kind, byte[] Payload)>();
        session.Exchanges[id] = answer;
        try
        {
            await SendAsync(context, session.Uplink, id);
            await AnswerAsync(context, answer.Reader);
        }
        catch (Exception e) when (e is IOException or OperationCanceledException or ChannelClosedException)
        {
            context.Abort();
        }
        finally
        {
            session.Exchanges.TryRemove(id, out _);
        }
    }

    private static async Task SendAsync(HttpContext context, AncestorUplink uplink, int id)
    {
        var request = context.Request;
        var headers = request.Headers
            .Where(static header => !Head.IsOfConnection(header.Key))
            .SelectMany(static header => header.Value.Select(value => KeyValuePair.Create(header.Key, value ?? "")));
        var head = new Head(request.Method, $"{request.Path}{request.QueryString}", 0, [.. headers]);
        await uplink.WriteAsync(FrameKind.OpenRequest, id, JsonSerializer.SerializeToUtf8Bytes(head), context.RequestAborted);
        var buffer = new byte[Chunk];
        while (await request.Body.ReadAsync(buffer, context.RequestAborted) is > 0 and var count)
        {
            await uplink.WriteAsync(FrameKind.DataRequest, id, buffer.AsMemory(0, count), context.RequestAborted);
        }

        await uplink.WriteAsync(FrameKind.CloseRequest, id, default, context.RequestAborted);
    }

    private static async Task AnswerAsync(HttpContext context, ChannelReader<(FrameKind Kind, byte[] Payload)> answer)
    {
        while (true)
        {
            var (kind, payload) = await answer.ReadAsync(context.RequestAborted);
            switch (kind)
            {
                case FrameKind.OpenResponse:
                    var head = JsonSerializer.Deserialize<Head>(payload)!;
                    context.Response.StatusCode = head.Status;
                    foreach (var (name, value) in head.Headers)
                    {
                        context.Response.Headers.Append(name, value);
                    }

                    break;
                case FrameKind.DataResponse:
                    await context.Response.Body.WriteAsync(payload, context.RequestAborted);
                    await context.Response.Body.FlushAsync(context.RequestAborted);
                    break;
                case FrameKind.CloseResponse:
                    return;
                default:
                    context.Abort();
                    return;
            }
        }
    }

    private sealed class Session(AncestorUplink uplink)
    {
        private int _streams;

        public AncestorUplink Uplink => uplink;

        public ConcurrentDictionary<int, Channel<(FrameKind Kind, byte[] Payload)>> Exchanges { get; } = new();

        public int NextStream() => Interlocked.Increment(ref _streams);
    }
}
