using System.Net.Sockets;
using System.Net.WebSockets;
using Tunnel2.ClusterFaults.Cluster;

namespace Tunnel2.ClusterFaults.Visitors;

/// <summary>
/// A page with a WebSocket: it sends a message four times a second, compares the echo, and opens the next one when this one ends, through
/// the balancer.
/// </summary>
internal sealed class WebSocketVisitor : IAsyncDisposable
{
    private static readonly TimeSpan _pace = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(20);

    private readonly FaultCluster _cluster;
    private readonly string _name;
    private readonly CancellationTokenSource _stop = new();
    private readonly List<string> _ends = [];
    private readonly Task _running;

    public WebSocketVisitor(FaultCluster cluster, string name)
    {
        _cluster = cluster;
        _name = name;
        _running = Task.Run(RunAsync);
    }

    /// <summary>How each one ended, except for the last: <c>1001</c>, or what was wrong.</summary>
    public IReadOnlyList<string> Ends => _ends;

    /// <summary>The longest time without one.</summary>
    public TimeSpan LongestGap { get; private set; }

    /// <summary>Ends it.</summary>
    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _running;
        _stop.Dispose();
    }

    private async Task RunAsync()
    {
        var lost = System.Diagnostics.Stopwatch.StartNew();
        while (!_stop.IsCancellationRequested)
        {
            using var socket = new ClientWebSocket();
            socket.Options.SetRequestHeader("Host", $"{_name}.localhost");
            socket.Options.KeepAliveInterval = TimeSpan.Zero;
            try
            {
                if (!await ConnectAsync(socket))
                {
                    continue;
                }

                LongestGap = lost.Elapsed > LongestGap ? lost.Elapsed : LongestGap;
                var end = await EchoAsync(socket);
                lost.Restart();
                if (!_stop.IsCancellationRequested)
                {
                    _ends.Add(end);
                }
            }
            catch (Exception exception) when (exception is WebSocketException or OperationCanceledException or TimeoutException)
            {
                lost.Restart();
                if (!_stop.IsCancellationRequested)
                {
                    _ends.Add($"broken: {exception.Message}");
                }
            }
        }
    }

    private async Task<bool> ConnectAsync(ClientWebSocket socket)
    {
        foreach (var node in _cluster.Health.InTurn().Take(1))
        {
            try
            {
                using var limit = CancellationTokenSource.CreateLinkedTokenSource(_stop.Token);
                limit.CancelAfter(_patience);
                await socket.ConnectAsync(new Uri($"ws://{node.Public}/ws-echo"), limit.Token);
                return true;
            }
            catch (Exception exception)
                when (exception is WebSocketException or SocketException or HttpRequestException or OperationCanceledException)
            {
                // The page tries again.
                await Task.Delay(_pace, CancellationToken.None);
            }
        }

        return false;
    }

    private async Task<string> EchoAsync(ClientWebSocket socket)
    {
        var buffer = new byte[64];
        var receiving = socket.ReceiveAsync(buffer.AsMemory(), _stop.Token).AsTask();
        for (var number = 0; !_stop.IsCancellationRequested; number++)
        {
            await socket.SendAsync(BitConverter.GetBytes(number), WebSocketMessageType.Binary, true, _stop.Token);
            var part = await receiving.WaitAsync(_patience);
            if (part.MessageType == WebSocketMessageType.Close)
            {
                return Describe(socket);
            }

            if (part.Count != sizeof(int) || BitConverter.ToInt32(buffer) != number)
            {
                return "a wrong message";
            }

            // It listens in the pause too: a message to a closed connection would destroy the close frame.
            receiving = socket.ReceiveAsync(buffer.AsMemory(), _stop.Token).AsTask();
            if (await Task.WhenAny(receiving, Task.Delay(_pace)) == receiving)
            {
                return (await receiving).MessageType == WebSocketMessageType.Close ? Describe(socket) : "a message that was not sent";
            }
        }

        return "stopped";
    }

    private static string Describe(ClientWebSocket socket) =>
        ((int?)socket.CloseStatus ?? 1005).ToString(System.Globalization.CultureInfo.InvariantCulture);
}
