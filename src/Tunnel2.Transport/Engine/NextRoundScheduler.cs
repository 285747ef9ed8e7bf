using System.IO.Pipelines;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.Transport.Engine;

/// <summary>
/// Runs work in the socket engine's next round: a byte on a socket pair whose other end has a receive pending on the same engine. What is
/// scheduled until then shares that byte. Work may be scheduled from any thread and always runs on the engine's. What it throws is contained.
/// </summary>
internal sealed class NextRoundScheduler : PipeScheduler, IDisposable
{
    private static readonly byte[] _wakeByte = [1];

    private readonly Lock _gate = new();
    private readonly ContainedFaults _faults;
    private readonly Socket _sender;
    private readonly Socket _receiver;
    private readonly SocketAsyncEventArgs _receive;
    private List<Work> _work = new(64);
    private List<Work>? _spare;
    private bool _woken;
    private bool _running;
    private bool _overlapped;
    private bool _disposed;

    /// <param name="faults">Where faults of the work are counted; null: nobody looks at them.</param>
    public NextRoundScheduler(ContainedFaults? faults = null)
    {
        _faults = faults ?? new ContainedFaults();
        (_sender, _receiver) = CreatePair();
        _receive = new SocketAsyncEventArgs(true);
        _receive.SetBuffer(new byte[64], 0, 64);
        _receive.Completed += (_, _) => OnReceived();
        Arm();
    }

    /// <inheritdoc/>
    public override void Schedule(Action<object?> action, object? state)
    {
        bool wake;
        lock (_gate)
        {
            if (_disposed)
            {
                System.Threading.ThreadPool.UnsafeQueueUserWorkItem(action, state, preferLocal: false);
                return;
            }

            _work.Add(new Work(action, state));
            wake = !_woken;
            _woken = true;
        }

        if (wake)
        {
            Wake();
        }
    }

    public void Dispose()
    {
        lock (_gate)
        {
            _disposed = true;
        }

        _sender.Dispose();
        _receiver.Dispose();
    }

    /// <summary>
    /// Arms the receive before the work is run: with the receive pending, what the work schedules arrives as an event of the next round;
    /// the other way round it would complete at once, and the rounds would never end.
    /// </summary>
    private void OnReceived()
    {
        Arm();
        RunAll();
    }

    private void Arm()
    {
        try
        {
            while (!_receiver.ReceiveAsync(_receive))
            {
                if (_receive.SocketError != SocketError.Success || _receive.BytesTransferred == 0)
                {
                    return;
                }
            }
        }
        catch (ObjectDisposedException)
        {
            // The process is going down.
        }
    }

    private void Wake()
    {
        try
        {
            _sender.Send(_wakeByte);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // The process is going down; what was scheduled still has to run somewhere.
            System.Threading.ThreadPool.UnsafeQueueUserWorkItem(static self => self.RunAll(), this, preferLocal: false);
        }
    }

    private void RunAll()
    {
        List<Work> running;
        lock (_gate)
        {
            if (_running)
            {
                // Only where completions run on the pool: two rounds never run at once, so this one comes behind the present one.
                _overlapped = true;
                return;
            }

            _running = true;
            _woken = false;
            running = _work;
            _work = _spare ?? new List<Work>(64);
            _spare = null;
        }

        foreach (var work in running)
        {
            _faults.Run("loop work", work.Action, work.State);
        }

        running.Clear();
        bool again;
        lock (_gate)
        {
            _spare = running;
            _running = false;
            again = _overlapped;
            _overlapped = false;
        }

        if (again)
        {
            Wake();
        }
    }

    /// <summary>A pair of connected Unix sockets: cheaper than TCP, and no port.</summary>
    private static (Socket Sender, Socket Receiver) CreatePair()
    {
        var path = Path.Combine(Path.GetTempPath(), $"tunnel2-{Guid.NewGuid():N}.sock");
        using var listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            listener.Bind(new UnixDomainSocketEndPoint(path));
            listener.Listen(1);
            var sender = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            sender.Connect(new UnixDomainSocketEndPoint(path));
            return (sender, listener.Accept());
        }
        finally
        {
            File.Delete(path);
        }
    }

    private readonly record struct Work(Action<object?> Action, object? State);
}
