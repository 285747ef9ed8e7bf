using System.Net;
using System.Net.Sockets;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Cluster;

/// <summary>A port at which visits wait until they are let in, and are then passed on.</summary>
internal sealed class VisitGate : IAsyncDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _end = new();
    private readonly WaitSignal _open = new("the gate is open");
    private readonly EndPoint _target;
    private readonly Task _accepting;

    /// <param name="target">Where visits are passed on to.</param>
    public VisitGate(EndPoint target)
    {
        _target = target;
        _listener.Start();
        _accepting = AcceptAsync();
    }

    public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    /// <summary>The first visit is here.</summary>
    public WaitSignal Visited { get; } = new("a visit at the gate");

    public void Open() => _open.Set();

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        _listener.Dispose();
        await _accepting;
        _end.Dispose();
    }

    private async Task AcceptAsync()
    {
        var visits = new List<Task>();
        try
        {
            while (true)
            {
                visits.Add(PassAsync(await _listener.AcceptTcpClientAsync(_end.Token)));
                Visited.Set();
            }
        }
        catch (Exception exception) when (exception is OperationCanceledException or SocketException or ObjectDisposedException)
        {
            await Task.WhenAll(visits);
        }
    }

    private async Task PassAsync(TcpClient visit)
    {
        using (visit)
        using (var target = new Socket(SocketType.Stream, ProtocolType.Tcp))
        {
            try
            {
                await _open.WaitAsync(Timeout.InfiniteTimeSpan, _end.Token);
                await target.ConnectAsync(_target, _end.Token);
                await using var there = new NetworkStream(target);
                var copies = new[] { visit.GetStream().CopyToAsync(there, _end.Token), there.CopyToAsync(visit.GetStream(), _end.Token) };
                await await Task.WhenAny(copies);
                visit.Close();
                target.Close();
                await Task.WhenAll(copies);
            }
            catch (Exception exception) when (exception is OperationCanceledException or IOException or SocketException
                or ObjectDisposedException)
            {
                // One end is gone, and so is the other.
            }
        }
    }
}
