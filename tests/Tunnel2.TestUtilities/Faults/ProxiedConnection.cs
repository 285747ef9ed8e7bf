using System.Diagnostics.CodeAnalysis;
using System.Net.Sockets;

namespace Tunnel2.TestUtilities;

/// <summary>One connection through a <see cref="CuttingProxy"/>. Thread-safe.</summary>
[SuppressMessage(
    "Design", "CA1001", Justification = "The token source has neither timer nor wait handle, and Cut may be called at any time.")]
public sealed class ProxiedConnection
{
    private readonly Socket _client;
    private readonly Socket _target;
    private readonly RelayPump _toTarget;
    private readonly RelayPump _toClient;
    private readonly RelayLink _own = new();
    private readonly CancellationTokenSource _stop = new();
    private int _isCut;

    internal ProxiedConnection(int number, Socket client, Socket target, RelayLink toTarget, RelayLink toClient)
    {
        Number = number;
        _client = client;
        _target = target;
        _toTarget = new RelayPump(client, target, toTarget, _own, $"to the target on connection {number}");
        _toClient = new RelayPump(target, client, toClient, _own, $"to the client on connection {number}");
    }

    /// <summary>Its place in the order in which connections were accepted, from 1.</summary>
    public int Number { get; }

    /// <summary>The bytes passed on to the target so far.</summary>
    public AsyncCounter BytesToTarget => _toTarget.Forwarded;

    /// <summary>The bytes passed on to the client so far.</summary>
    public AsyncCounter BytesToClient => _toClient.Forwarded;

    /// <summary>Set when both sockets are closed.</summary>
    public WaitSignal Closed { get; } = new("the proxied connection is closed");

    /// <summary>Stops reading on this connection, in both directions; nothing is lost.</summary>
    public void Pause() => _own.Change(static settings => settings with { IsPaused = true });

    /// <summary>Ends <see cref="Pause"/>.</summary>
    public void Resume() => _own.Change(static settings => settings with { IsPaused = false });

    /// <summary>Swallows everything on this connection, ends of streams too; both sides believe that all is well. For good.</summary>
    public void BlackHole() => _own.Change(static settings => settings with { IsBlackHole = true });

    /// <summary>
    /// Cuts it. With <see cref="CutMode.Fin"/> the sockets stay open to swallow what still comes (closing them then would send a reset)
    /// until both sides have ended or the proxy is disposed.
    /// </summary>
    public void Cut(CutMode mode)
    {
        if (Interlocked.Exchange(ref _isCut, 1) != 0 && mode == CutMode.Fin)
        {
            return;
        }

        _toTarget.Discard();
        _toClient.Discard();
        if (mode == CutMode.Fin)
        {
            SendFin(_client);
            SendFin(_target);
        }
        else
        {
            Reset(_client);
            Reset(_target);
            Stop();
        }
    }

    /// <summary>
    /// Cuts it as soon as exactly <paramref name="bytes"/> bytes in all have been passed on in <paramref name="direction"/>.
    /// </summary>
    public void CutAfter(RelayDirection direction, long bytes, CutMode mode)
    {
        foreach (var pump in new[] { (RelayDirection.ToTarget, _toTarget), (RelayDirection.ToClient, _toClient) })
        {
            if (direction.HasFlag(pump.Item1))
            {
                pump.Item2.LimitReached = () => Cut(mode);
                pump.Item2.Limit = bytes;
            }
        }
    }

    internal async Task RunAsync()
    {
        try
        {
            var toTarget = _toTarget.RunAsync(_stop.Token);
            var toClient = _toClient.RunAsync(_stop.Token);
            var first = await Task.WhenAny(toTarget, toClient).ConfigureAwait(false);
            // A clean end of one direction leaves the other open; a failure ends both.
            await first.ConfigureAwait(false);
            await Task.WhenAll(toTarget, toClient).ConfigureAwait(false);
        }
        catch (SocketException)
        {
            // One side was reset, so the other is too, unless a cut has already decided how it ends.
            Reset(_client);
            Reset(_target);
        }
        catch (Exception e) when (e is OperationCanceledException or ObjectDisposedException)
        {
            // Cut, or the proxy was disposed.
        }
        finally
        {
            Stop();
            _client.Dispose();
            _target.Dispose();
            Closed.Set();
        }
    }

    internal void Stop() => _stop.Cancel();

    private static void SendFin(Socket socket)
    {
        try
        {
            socket.Shutdown(SocketShutdown.Send);
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // It has ended already.
        }
    }

    private static void Reset(Socket socket)
    {
        try
        {
            socket.LingerState = new LingerOption(true, 0);
            socket.Close();
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // It has ended already.
        }
    }
}
