using System.Net;
using System.Net.Sockets;
using System.Net.WebSockets;
using NBomber.Contracts;
using NBomber.CSharp;
using NBomber.Http.CSharp;
using Tunnel2.LoadTests.Exchanges;
using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;
using Tunnel2.TestUtilities;

namespace Tunnel2.LoadTests.NBomber;

/// <summary>The requests of a flow through .NET's own clients, every answer compared byte for byte. Thread-safe.</summary>
internal sealed class VisitorClient : IDisposable
{
    private const int SlowTurnsPerSecond = 50;

    private readonly TrafficFlow _flow;
    private readonly IReadOnlyList<string> _hosts;
    private readonly SocketsHttpHandler _handler;
    private readonly HttpClient _client;
    private long _next = -1;
    private long _wrongBodies;

    /// <summary>Makes one.</summary>
    /// <param name="flow">The flow.</param>
    /// <param name="endPoint">Where all connections go: not every resolver knows names below localhost.</param>
    /// <param name="hosts">The tunnels' hosts.</param>
    public VisitorClient(TrafficFlow flow, IPEndPoint endPoint, IReadOnlyList<string> hosts)
    {
        (_flow, _hosts) = (flow, hosts);
        _handler = new SocketsHttpHandler
        {
            UseProxy = false,
            MaxConnectionsPerServer = flow.MaxConnections,
            PooledConnectionLifetime = flow.NewConnectionEach ? TimeSpan.Zero : Timeout.InfiniteTimeSpan,
            ConnectCallback = async (_, cancellationToken) =>
            {
                var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                await socket.ConnectAsync(endPoint, cancellationToken);
                return new NetworkStream(socket, ownsSocket: true);
            },
        };
        _client = new HttpClient(_handler) { Timeout = flow.Timeout };
    }

    /// <summary>Answers with other bytes than they should have had.</summary>
    public long WrongBodies => Interlocked.Read(ref _wrongBodies);

    /// <summary>Sends the next request and checks its answer.</summary>
    public async Task<IResponse> SendAsync()
    {
        var index = Interlocked.Increment(ref _next);
        var host = _hosts[(int)(index % _hosts.Count)];
        try
        {
            return _flow switch
            {
                { Request.Kind: RequestKind.WebSocket } => await TalkAsync(host, index),
                { ReadBytesPerSecond: { } rate } => await ReadSlowlyAsync(host, index, rate),
                _ => await RequestAsync(host, index),
            };
        }
        catch (Exception e) when (e is HttpRequestException or IOException or WebSocketException or SocketException)
        {
            return Fail(
                e is HttpRequestException { InnerException: SocketException { SocketErrorCode: SocketError.ConnectionRefused } }
                    ? FailureKind.ConnectRefused
                    : FailureKind.Reset,
                e.Message);
        }
        catch (OperationCanceledException)
        {
            return Fail(FailureKind.Timeout, "");
        }
    }

    public void Dispose()
    {
        _client.Dispose();
        _handler.Dispose();
    }

    private async Task<IResponse> RequestAsync(string host, long index)
    {
        var request = Http.CreateRequest(_flow.Request.Kind == RequestKind.Echo ? "POST" : "GET", $"http://{host}{_flow.Request.Path}");
        if (_flow.Request.Kind == RequestKind.Echo)
        {
            var body = new byte[_flow.Request.Size];
            PatternBytes.Fill(body, PatternBody.StartOf(index));
            request = request.WithBody(new ByteArrayContent(body));
        }

        var answer = await Http.Send(_client, request);
        using var response = answer.Payload.Value;
        var bytes = await response.Content.ReadAsByteArrayAsync();
        var check = MakeCheck(index);
        return response.StatusCode != HttpStatusCode.OK ? Fail(FailureKind.WrongStatus, answer.StatusCode)
            : Judge(check, check.Take(bytes), bytes.Length);
    }

    private async Task<IResponse> ReadSlowlyAsync(string host, long index, int bytesPerSecond)
    {
        using var limit = new CancellationTokenSource(_flow.Timeout);
        using var response = await _client.GetAsync(
            new Uri($"http://{host}{_flow.Request.Path}"), HttpCompletionOption.ResponseHeadersRead, limit.Token);
        if (response.StatusCode != HttpStatusCode.OK)
        {
            return Fail(FailureKind.WrongStatus, response.StatusCode.ToString());
        }

        using var stream = await response.Content.ReadAsStreamAsync(limit.Token);
        using var timer = new PeriodicTimer(TimeSpan.FromSeconds(1.0 / SlowTurnsPerSecond));
        var buffer = new byte[bytesPerSecond / SlowTurnsPerSecond];
        var check = MakeCheck(index);
        var failure = FailureKind.None;
        var total = 0;
        while (failure == FailureKind.None && await stream.ReadAsync(buffer, limit.Token) is > 0 and var count)
        {
            failure = check.Take(buffer.AsSpan(0, count));
            total += count;
            await timer.WaitForNextTickAsync(limit.Token);
        }

        return Judge(check, failure, total);
    }

    private async Task<IResponse> TalkAsync(string host, long index)
    {
        using var limit = new CancellationTokenSource(_flow.Timeout);
        using var socket = new ClientWebSocket();
        using var invoker = new HttpMessageInvoker(_handler, disposeHandler: false);
        await socket.ConnectAsync(new Uri($"ws://{host}{_flow.Request.Path}"), invoker, limit.Token);
        var sent = new byte[_flow.Request.MessageBytes];
        var received = new byte[sent.Length];
        var check = new PatternBody(sent.Length, varies: true);
        for (var message = 0; message < _flow.Request.Size; message++)
        {
            var number = (index * _flow.Request.Size) + message;
            PatternBytes.Fill(sent, PatternBody.StartOf(number));
            check.Begin(number);
            await socket.SendAsync(sent.AsMemory(), WebSocketMessageType.Binary, endOfMessage: true, limit.Token);
            for (var isOver = false; !isOver;)
            {
                var part = await socket.ReceiveAsync(received.AsMemory(), limit.Token);
                isOver = part.EndOfMessage || part.MessageType == WebSocketMessageType.Close;
                if (check.Take(received.AsSpan(0, part.Count)) != FailureKind.None)
                {
                    return Judge(check, FailureKind.WrongBody, 0);
                }
            }

            if (!check.IsComplete)
            {
                return Fail(FailureKind.Truncated, "");
            }
        }

        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, limit.Token);
        return Response.Ok(statusCode: nameof(HttpStatusCode.SwitchingProtocols), sizeBytes: (long)_flow.Request.Size * sent.Length);
    }

    private IBodyCheck MakeCheck(long index)
    {
        IBodyCheck check = _flow.Request.Kind == RequestKind.Events
            ? new EventsBody(_flow.Request.Size)
            : new PatternBody(_flow.Request.Size, _flow.Request.Kind == RequestKind.Echo);
        check.Begin(index);
        return check;
    }

    private Response<object> Judge(IBodyCheck check, FailureKind failure, long bytes)
    {
        if (failure == FailureKind.None && check.IsComplete)
        {
            return Response.Ok(statusCode: nameof(HttpStatusCode.OK), sizeBytes: bytes);
        }

        if (failure == FailureKind.WrongBody)
        {
            Interlocked.Increment(ref _wrongBodies);
        }

        return Fail(failure == FailureKind.None ? FailureKind.Truncated : failure, "");
    }

    private static Response<object> Fail(FailureKind kind, string message) => Response.Fail(statusCode: kind.ToString(), message: message);
}
