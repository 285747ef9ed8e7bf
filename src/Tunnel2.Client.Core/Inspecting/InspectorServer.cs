using System.Net;
using System.Net.Sockets;
using System.Reflection;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Inspection.Serving;

namespace Tunnel2.Client.Core.Inspecting;

/// <summary>
/// Serves the inspector of an agent on a listener of its own: sockets of the runtime and threads of the pool, so that nothing of it is on
/// an event loop. Connections have a limit, and each has its own. Where all are in use, the one that has waited longest for its caller ends
/// for a new one; where all are answered, the one whose answer takes longest.
/// </summary>
internal sealed class InspectorServer : IAsyncDisposable
{
    /// <summary>How many ports are tried where the user named none.</summary>
    public const int TriedPorts = 10;

    private const int MostConnections = 32;

    private static readonly TimeSpan _rest = TimeSpan.FromMilliseconds(100);

    private readonly Lock _gate = new();
    private readonly CancellationTokenSource _stop = new();
    private readonly SemaphoreSlim _connections = new(MostConnections);
    private readonly Dictionary<Socket, InspectorConnection> _open = [];
    private readonly Socket _listener;
    private readonly InspectorApi _api;
    private readonly RequestGuard _guard;
    private readonly InspectorAccess? _access;
    private readonly TimeProvider _time;
    private readonly Task _accepting;

    private InspectorServer(Socket listener, Func<IReadOnlyList<IInspectedSession>> sessions, AgentOptions options, TimeProvider time)
    {
        _listener = listener;
        _time = time;
        EndPoint = (IPEndPoint)listener.LocalEndPoint!;
        var isLoopback = IPAddress.IsLoopback(EndPoint.Address);
        _guard = new RequestGuard(EndPoint.Port, options.InspectorHosts, allowsAddresses: !isLoopback);
        _access = options.InspectorToken is { } token && !isLoopback ? new InspectorAccess(token, time) : null;
        _api = new InspectorApi(sessions, Version);
        _accepting = Task.Run(AcceptAsync);
    }

    /// <summary>The version that the page compares.</summary>
    public static string Version { get; } =
        (typeof(InspectorServer).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion ?? "0")
        .Split('+')[0];

    /// <summary>Where it listens.</summary>
    public IPEndPoint EndPoint { get; }

    /// <summary>Such as <c>http://127.0.0.1:4040</c>.</summary>
    public string Url => $"http://{EndPoint}";

    /// <summary>Starts a server, where the options say or at the first free one of the usual ports.</summary>
    /// <param name="options">Those of the first tunnel: a process has one inspector.</param>
    /// <param name="sessions">The tunnels.</param>
    /// <param name="time">The clock.</param>
    /// <param name="problem">Why there is none, or null.</param>
    public static InspectorServer? TryStart(
        AgentOptions options, IReadOnlyList<IInspectedSession> sessions, TimeProvider time, out string? problem) =>
        TryStart(options, () => sessions, time, out problem);

    /// <summary>The same for tunnels that come and go.</summary>
    /// <param name="options">Those of the first tunnel: a process has one inspector.</param>
    /// <param name="sessions">Returns the tunnels there are now; from any thread.</param>
    /// <param name="time">The clock.</param>
    /// <param name="problem">Why there is none, or null.</param>
    public static InspectorServer? TryStart(
        AgentOptions options, Func<IReadOnlyList<IInspectedSession>> sessions, TimeProvider time, out string? problem)
    {
        var address = options.InspectorAddress;
        if (address is { IsLoopback: false } && options.InspectorToken is null)
        {
            problem = $"it would listen to other machines at {address}: that needs a token (TUNNEL2_INSPECT_TOKEN)";
            return null;
        }

        problem = null;
        for (var i = 0; i < (address is null ? TriedPorts : 1); i++)
        {
            var endPoint = new IPEndPoint(address?.Address ?? IPAddress.Loopback, address?.Port ?? (InspectorAddress.DefaultPort + i));
            var listener = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
            try
            {
                listener.Bind(endPoint);
                listener.Listen(MostConnections);
                problem = null;
                return new InspectorServer(listener, sessions, options, time);
            }
            catch (SocketException exception)
            {
                listener.Dispose();
                problem = $"it cannot listen at {endPoint}: {exception.Message}";
            }
        }

        return null;
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync().ConfigureAwait(false);
        _listener.Dispose();
        lock (_gate)
        {
            foreach (var socket in _open.Keys)
            {
                socket.Dispose();
            }
        }

        await _accepting.ConfigureAwait(false);
        for (var i = 0; i < MostConnections; i++)
        {
            await _connections.WaitAsync().ConfigureAwait(false);
        }

        _api.Dispose();
        _connections.Dispose();
        _stop.Dispose();
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                Socket socket;
                try
                {
                    socket = await _listener.AcceptAsync(_stop.Token).ConfigureAwait(false);
                }
                catch (SocketException) when (!_stop.IsCancellationRequested)
                {
                    // The caller has gone before it was accepted, or there is no descriptor for it: the next one.
                    await Task.Delay(_rest, _time, _stop.Token).ConfigureAwait(false);
                    continue;
                }

                try
                {
                    if (!_connections.Wait(0, CancellationToken.None))
                    {
                        EndOne();
                        await _connections.WaitAsync(_stop.Token).ConfigureAwait(false);
                    }
                }
                catch
                {
                    socket.Dispose();
                    throw;
                }

                _ = ServeAsync(socket);
            }
        }
        catch (Exception exception) when (exception is OperationCanceledException or ObjectDisposedException or SocketException)
        {
            // The agent ends.
        }
    }

    /// <summary>Ends the connection that is missed least; its place is free when its last call has ended.</summary>
    private void EndOne()
    {
        lock (_gate)
        {
            if (_open.Count > 0)
            {
                _open.MinBy(static one => (one.Value.IsAnswering, one.Value.Since)).Key.Dispose();
            }
        }
    }

    /// <summary>Serves one connection, and contains its faults.</summary>
    private async Task ServeAsync(Socket socket)
    {
        try
        {
            socket.NoDelay = true;
            var from = (socket.RemoteEndPoint as IPEndPoint)?.Address ?? IPAddress.None;
            await using var stream = new NetworkStream(socket, ownsSocket: true);
            var connection = new InspectorConnection(stream, from, _api, _guard, _access, _time);
            lock (_gate)
            {
                _open.Add(socket, connection);
            }

            await connection.RunAsync(_stop.Token).ConfigureAwait(false);
        }
        catch (Exception)
        {
            // A fault of ours ends this connection and nothing else.
        }
        finally
        {
            lock (_gate)
            {
                _open.Remove(socket);
            }

            socket.Dispose();
            _connections.Release();
        }
    }
}
