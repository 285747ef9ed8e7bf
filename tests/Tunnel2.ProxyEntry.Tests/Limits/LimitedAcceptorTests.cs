using System.Net;
using System.Net.Sockets;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Limits;

public sealed class LimitedAcceptorTests : IDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(30);
    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly List<Socket> _sockets = [];
    private readonly List<SocketError> _failures = [];

    public LimitedAcceptorTests()
    {
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen(10);
    }

    [Fact]
    public async Task It_accepts_no_more_than_there_may_be_and_continues_when_one_ends()
    {
        var limit = new ConnectionLimit("visitors", 1, 1);
        var full = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        limit.Full = () => full.TrySetResult();
        var acceptor = new LimitedAcceptor(_listener, limit, _failures.Add, TimeProvider.System);
        await ConnectAsync("127.0.0.1");
        var first = await AcceptAsync(acceptor);
        await ConnectAsync("127.0.0.2");
        var second = AcceptAsync(acceptor);
        await full.Task.WaitAsync(_limit);
        Assert.False(second.IsCompleted);
        limit.Leave(first!.Value.Place);
        Assert.NotNull(await second);
    }

    [Fact]
    public async Task An_address_with_too_many_is_refused_at_once_and_does_not_hold_up_others()
    {
        var acceptor = new LimitedAcceptor(_listener, new ConnectionLimit("visitors", 3, 1), _failures.Add, TimeProvider.System);
        await ConnectAsync("127.0.0.1");
        Assert.NotNull(await AcceptAsync(acceptor));
        var beyond = await ConnectAsync("127.0.0.1");
        await ConnectAsync("127.0.0.2");
        var next = await AcceptAsync(acceptor);
        Assert.Equal(IPAddress.Parse("127.0.0.2"), ((IPEndPoint)next!.Value.Socket.RemoteEndPoint!).Address);
        var failure = await Assert.ThrowsAsync<SocketException>(() => beyond.ReceiveAsync(new byte[1]).WaitAsync(_limit));
        Assert.Equal(SocketError.ConnectionReset, failure.SocketErrorCode);
    }

    [Fact]
    public async Task Without_descriptors_it_pauses_and_then_continues()
    {
        var time = new ManualTimeProvider();
        var attempts = new AsyncCounter("attempts");
        var acceptor = new LimitedAcceptor(
            _listener, new ConnectionLimit("visitors", 3, 3), _failures.Add, time, stopping => attempts.Increment() switch
        {
            1 or 2 => throw new SocketException((int)SocketError.TooManyOpenSockets),
            3 => throw new SocketException((int)SocketError.ConnectionAborted),
            _ => _listener.AcceptAsync(stopping),
        });
        await ConnectAsync("127.0.0.1");
        var accepting = AcceptAsync(acceptor);
        Assert.Equal(1, attempts.Value);
        time.Advance(TimeSpan.FromMilliseconds(100));
        await attempts.WaitForAsync(2);
        await time.TimersSet.WaitForAsync(2);
        time.Advance(TimeSpan.FromMilliseconds(100));
        Assert.NotNull(await accepting);
        Assert.Equal([SocketError.TooManyOpenSockets, SocketError.TooManyOpenSockets], _failures);
    }

    [Fact]
    public async Task It_ends_with_its_listener_while_it_waits_too()
    {
        using var stopping = new CancellationTokenSource();
        var limit = new ConnectionLimit("visitors", 1, 1);
        var full = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        limit.Full = () => full.TrySetResult();
        var acceptor = new LimitedAcceptor(_listener, limit, _failures.Add, TimeProvider.System);
        await ConnectAsync("127.0.0.1");
        Assert.NotNull(await acceptor.AcceptAsync(stopping.Token).AsTask().WaitAsync(_limit));
        await ConnectAsync("127.0.0.2");
        var waiting = acceptor.AcceptAsync(stopping.Token).AsTask();
        await full.Task.WaitAsync(_limit);
        await stopping.CancelAsync();
        Assert.Null(await waiting.WaitAsync(_limit));
        Assert.Equal(1, limit.Count);
    }

    public void Dispose()
    {
        _sockets.ForEach(static socket => socket.Dispose());
        _listener.Dispose();
    }

    private async Task<(Socket Socket, ConnectionPlace Place)?> AcceptAsync(LimitedAcceptor acceptor)
    {
        var accepted = await acceptor.AcceptAsync(CancellationToken.None).AsTask().WaitAsync(_limit);
        if (accepted is var (socket, _))
        {
            _sockets.Add(socket);
        }

        return accepted;
    }

    private async Task<Socket> ConnectAsync(string from)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        _sockets.Add(socket);
        socket.Bind(new IPEndPoint(IPAddress.Parse(from), 0));
        await socket.ConnectAsync(_listener.LocalEndPoint!);
        return socket;
    }
}
