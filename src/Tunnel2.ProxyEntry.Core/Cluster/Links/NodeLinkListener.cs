using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography;
using Tunnel2.Multiplexing.Handshake;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// Accepts the links of other nodes. Only a peer with a certificate of the cluster gets a byte of an answer; each of its streams is a
/// request for a session of this node. Thread-safe.
/// </summary>
internal sealed class NodeLinkListener : IAsyncDisposable
{
    private const int Backlog = 256;

    /// <summary>Connections at once, those in their handshake included: four of each of a thousand nodes.</summary>
    private const int MaxConnections = 4096;

    /// <summary>Of them from one address: a stranger that says nothing must not keep nodes out, and no more than are free.</summary>
    private const int MaxOfAddress = 1024;

    private readonly ProxyEntrySettings _settings;
    private readonly NodeCertificates _certificates;
    private readonly NodeDialer _dialer;
    private readonly ISessionDirectory _directory;
    private readonly IServiceProvider _services;
    private readonly NodeHeartbeat _heartbeat;
    private readonly NodeLinkMetrics _metrics;
    private readonly HandshakeTurns _turns;
    private readonly IEngine _engine;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;
    private readonly ConnectionLimit _limit = new("nodes", MaxConnections, MaxOfAddress, leavesRoom: true);
    private readonly ConcurrentDictionary<UplinkConnection, (string Node, Task Ended)> _links = new();
    private readonly CancellationTokenSource _stopping = new();
    private Socket? _listener;
    private Task _loop = Task.CompletedTask;
    private int _isDisposed;

    public NodeLinkListener(
        ProxyEntrySettings settings, NodeCertificates certificates, NodeDialer dialer, ISessionDirectory directory, NodeHeartbeat heartbeat,
        NodeLinkMetrics metrics, HandshakeTurns turns, IEngine engine, TimeProvider timeProvider, IServiceProvider services,
        ILogger<NodeLinkListener> logger)
    {
        _settings = settings;
        _certificates = certificates;
        _dialer = dialer;
        _directory = directory;
        _services = services;
        _heartbeat = heartbeat;
        _metrics = metrics;
        _turns = turns;
        _engine = engine;
        _timeProvider = timeProvider;
        _logger = logger;
    }

    /// <summary>Where it listens.</summary>
    public IPEndPoint EndPoint => (IPEndPoint)_listener!.LocalEndPoint!;

    /// <summary>Where other nodes reach this one: the setting, with the port that the system chose.</summary>
    public string Address
    {
        get
        {
            var said = _settings.NodeLinks.Advertise;
            return said.EndsWith(":0", StringComparison.Ordinal)
                ? string.Create(System.Globalization.CultureInfo.InvariantCulture, $"{said[..^1]}{EndPoint.Port}")
                : said;
        }
    }

    /// <summary>Listens from now on.</summary>
    /// <exception cref="IOException">The address is not available.</exception>
    public void Start()
    {
        var endPoint = _settings.NodeLinks.Listen!;
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            if (endPoint.Address.Equals(IPAddress.IPv6Any))
            {
                socket.DualMode = true;
            }

            socket.Bind(endPoint);
            socket.Listen(Backlog);
        }
        catch (SocketException exception)
        {
            socket.Dispose();
            throw new IOException(
                $"Failed to bind to address {endPoint} (Tunnel2:{SettingKeys.ClusterListen}): {exception.Message}", exception);
        }

        _listener = socket;
        _loop = AcceptAsync(new LimitedAcceptor(socket, _limit, static _ => { }, _timeProvider));
        NodeLinkLog.ListeningForNodes(_logger, EndPoint, _settings.EntryId);
    }

    /// <summary>
    /// Takes no more links and no more requests; the links end with their last one. When the task ends, all have ended or the limit is
    /// over.
    /// </summary>
    public async Task DrainAsync(TimeSpan limit, CancellationToken hurry)
    {
        _listener?.Dispose();
        _services.GetService<INodeCalls>()?.Leave();
        foreach (var uplink in _links.Keys)
        {
            uplink.SendGoAwayNotice(SessionEndReason.Shutdown, "The node stops.");
        }

        try
        {
            await Task.WhenAll(_links.Values.Select(static link => link.Ended))
                .WaitAsync(limit, _timeProvider, hurry).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is TimeoutException or OperationCanceledException)
        {
            // The rest is cut.
        }
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        if (Interlocked.Exchange(ref _isDisposed, 1) == 1)
        {
            return;
        }

        await _stopping.CancelAsync().ConfigureAwait(false);
        _listener?.Dispose();
        foreach (var uplink in _links.Keys)
        {
            uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown, Text: "The node stopped."));
        }

        await Task.WhenAll(_links.Values.Select(static link => link.Ended)).ConfigureAwait(false);
        await _loop.ConfigureAwait(false);
        _stopping.Dispose();
    }

    private async Task AcceptAsync(LimitedAcceptor accepting)
    {
        while (await accepting.AcceptAsync(_stopping.Token).ConfigureAwait(false) is var (socket, place))
        {
            _ = ServeAsync(socket, place);
        }
    }

    private async Task ServeAsync(Socket socket, ConnectionPlace place)
    {
        try
        {
            var address = (socket.RemoteEndPoint as IPEndPoint)?.Address;
            await ServeAsync(_engine.CreateUplinkTransport(socket), address).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is IOException or SocketException)
        {
            // The peer left in its handshake.
        }
        catch (Exception exception)
        {
            NodeLinkLog.LinkFault(_logger, exception);
        }
        finally
        {
            socket.Dispose();
            _limit.Leave(place);
        }
    }

    private async Task ServeAsync(IUplinkTransport transport, IPAddress? address)
    {
        await using (transport.ConfigureAwait(false))
        {
            var verdict = new NodeVerdict();
            var result = await TlsHandshake.AcceptAsync(
                transport, TlsHandshake.NodeProtocol, _certificates.ForAnyNode(verdict), ProtocolLimits.HandshakeTimeout, _timeProvider,
                _stopping.Token, async () => await _turns.Next(address)).ConfigureAwait(false);
            if (result.Status != TlsHandshakeStatus.Done)
            {
                Refuse(transport, verdict.Problem ?? result.Status switch
                {
                    TlsHandshakeStatus.NotTls => "it does not speak TLS",
                    TlsHandshakeStatus.OtherProtocol => "it is no node",
                    _ => $"TLS {result.Status} {result.Detail}".TrimEnd(),
                });
                return;
            }

            var encrypted = result.Transport!;
            await using (encrypted.ConfigureAwait(false))
            {
                await GreetAsync(encrypted, verdict.Node).ConfigureAwait(false);
            }
        }
    }

    private async Task GreetAsync(TlsTransport transport, string node)
    {
        var first = await HandshakeFrameReader.ReadAsync(
            transport, static type => type == FrameType.Hello, ProtocolLimits.HandshakeTimeout, _timeProvider, _stopping.Token)
            .ConfigureAwait(false);
        if (first.Status != HandshakeReadStatus.Frame)
        {
            Refuse(transport, first.Status == HandshakeReadStatus.Malformed ? first.Error.ToString() : first.Status.ToString());
            return;
        }

        var error = HelloMessage.TryRead(first.Payload.Span, out var hello);
        if (Check(error, hello, node) is { } reject)
        {
            Refuse(transport, reject.Text);
            await transport.SendAsync(reject.ToFrame()).ConfigureAwait(false);
            transport.ShutdownSend();

            // A close at once could destroy the refusal that was just sent.
            await Lingering.DropAsync(transport, _timeProvider).ConfigureAwait(false);
            return;
        }

        // The links of a node are spread over the loops, so that it can choose the one on the loop of a session.
        var others = _links.Where(link => link.Value.Node == node).Select(static link => link.Key).ToArray();
        if (UplinkPlacement.TryMove(_engine.Loops, others, transport) is { } loop)
        {
            await new SchedulerYield(loop);
        }

        var settings = _dialer.SettingsFor(UplinkRole.Agent) with
        {
            SendStreamWindow = hello!.StreamWindow,
            SendUplinkWindow = hello.UplinkWindow,
            MaxStreams = hello.MaxStreams,
        };
        await transport.SendAsync(new WelcomeMessage
        {
            Capabilities = HandshakeCapabilities.NodeLink,
            SessionId = RandomNumberGenerator.GetBytes(WelcomeMessage.SessionIdLength),
            JoinSecret = new byte[WelcomeMessage.JoinSecretLength],
            Name = _settings.EntryId,
            PublicUrls = [],
        }.ToFrame()).ConfigureAwait(false);
        var all = _services.GetService<IOtherNodes>();
        var exchanges = new NodeExchanges(
            _settings, () => all?.Self ?? _settings.EntryId, _directory, _metrics, _services.GetRequiredService<IForwarder>(), node,
            _services.GetService<INodeFeeds>(), _services.GetService<INodeCalls>());
        await RunAsync(new UplinkConnection(transport, settings, exchanges.Serve), node, first.Rest).ConfigureAwait(false);
    }

    private RejectMessage? Check(ProtocolError error, HelloMessage? hello, string node)
    {
        if (error != ProtocolError.None)
        {
            return new RejectMessage(RejectCode.Malformed, TimeSpan.Zero, error.ToString());
        }

        if (!ProtocolVersion.TryChoose(hello!.LowestVersion, hello.HighestVersion, out _))
        {
            return new RejectMessage(RejectCode.VersionNotSupported, TimeSpan.Zero, "The nodes have no version in common.");
        }

        if ((hello.Capabilities & HandshakeCapabilities.NodeLink) == 0)
        {
            return new RejectMessage(RejectCode.Malformed, TimeSpan.Zero, "Only nodes connect here.");
        }

        if (hello.AgentId != node)
        {
            return new RejectMessage(
                RejectCode.Unauthorized, TimeSpan.Zero,
                $"Node {PlainText.Clean(hello.AgentId, maxLength: 64)} shows the certificate of node "
                    + $"{PlainText.Clean(node, maxLength: 64)}.");
        }

        return hello.WantedName == _settings.EntryId
            ? null
            : new RejectMessage(
                RejectCode.InvalidName, TimeSpan.Zero,
                $"This is node {_settings.EntryId}, not {PlainText.Clean(hello.WantedName, maxLength: 64)}.");
    }

    private void Refuse(IUplinkTransport transport, string reason)
    {
        _metrics.Failed(isOut: false);
        NodeLinkLog.LinkRefused(_logger, transport.RemoteName, reason);
    }

    private async Task RunAsync(UplinkConnection uplink, string node, ReadOnlyMemory<byte> rest)
    {
        var ended = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _links[uplink] = (node, ended.Task);
        _heartbeat.Timer.Add(uplink);
        _metrics.Opened(isOut: false);
        NodeLinkLog.LinkAccepted(_logger, node, uplink.RemoteName);
        if (_stopping.IsCancellationRequested)
        {
            uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
        }

        var reason = "";
        try
        {
            reason = (await uplink.RunAsync(rest).ConfigureAwait(false)).ToString();
        }
        finally
        {
            _heartbeat.Timer.Remove(uplink);
            uplink.TryEnd(new UplinkEnd(SessionEndReason.Internal));
            _metrics.Closed(isOut: false);
            NodeLinkLog.AcceptedLinkClosed(_logger, node, reason);
            _links.TryRemove(uplink, out _);
            ended.SetResult();
        }
    }
}
