using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Reconnect;
using Tunnel2.Client.Core.Session.Tls;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Core.Session;

/// <summary>Connects to the server, encrypted where the options say so. Every uplink of an agent comes from here. Thread-safe.</summary>
internal sealed class UplinkDialer
{
    private static readonly TimeSpan _connectTimeout = TimeSpan.FromSeconds(10);

    private readonly AgentOptions _options;
    private readonly IEngine _engine;
    private readonly UplinkTlsClient? _tls;

    public UplinkDialer(AgentOptions options, IEngine engine, TimeProvider timeProvider)
    {
        _options = options;
        _engine = engine;
        _tls = options.Tls is { } tls ? new UplinkTlsClient(options.Server, tls, timeProvider) : null;
    }

    /// <summary>Connects.</summary>
    /// <param name="stop">Gives up.</param>
    /// <returns>A transport that is ready for the first frame, or why there is none.</returns>
    public async Task<(IUplinkTransport? Transport, ConnectionEnd? End)> DialAsync(CancellationToken stop)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        try
        {
            using var deadline = CancellationTokenSource.CreateLinkedTokenSource(stop);
            deadline.CancelAfter(_connectTimeout);
            await socket.ConnectAsync(_options.Server.Host, _options.Server.Port, deadline.Token).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException)
        {
            socket.Dispose();
            return (null, stop.IsCancellationRequested ? ConnectionEnd.Stopped(TimeSpan.Zero) : ConnectionEnd.Unreachable(ConnectFailure.From(_options.Server, exception)));
        }

        var leaksToken = WouldLeakToken(socket);
        var transport = _engine.CreateUplinkTransport(socket);
        if (_tls is null)
        {
            if (!leaksToken)
            {
                return (transport, null);
            }

            await transport.DisposeAsync().ConfigureAwait(false);
            return (null, ConnectionEnd.RejectedPermanently(new Rejection(
                RejectionReason.Other, "token-in-plaintext", "the token would leave this machine unencrypted; TUNNEL2_ALLOW_PLAINTEXT=1 permits it on a network that is private by itself")));
        }

        var (encrypted, failure) = await _tls.OpenAsync(transport, stop).ConfigureAwait(false);
        if (encrypted is not null)
        {
            return (encrypted, null);
        }

        await transport.DisposeAsync().ConfigureAwait(false);
        return (null, stop.IsCancellationRequested ? ConnectionEnd.Stopped(TimeSpan.Zero) : ConnectionEnd.Unreachable(failure!));
    }

    /// <summary>The uplink is not encrypted: whoever is on the way could read the token and be us.</summary>
    private bool WouldLeakToken(Socket socket) =>
        _options.Token is not null && !_options.AllowPlaintextToken && socket.RemoteEndPoint is IPEndPoint { Address: var address } && !IPAddress.IsLoopback(address);
}
