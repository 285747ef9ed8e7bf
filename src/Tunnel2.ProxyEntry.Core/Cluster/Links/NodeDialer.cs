using System.Net;
using System.Net.Sockets;
using System.Reflection;
using System.Security.Cryptography;
using Tunnel2.Multiplexing.Handshake;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>Opens connections to other nodes: TCP, TLS with both certificates, HELLO and WELCOME. Thread-safe.</summary>
internal sealed class NodeDialer
{
    private static readonly TimeSpan _connectTimeout = TimeSpan.FromSeconds(3);

    private readonly ProxyEntrySettings _settings;
    private readonly NodeCertificates _certificates;
    private readonly IEngine _engine;
    private readonly StalledTransfers _stalled;
    private readonly TimeProvider _timeProvider;
    private readonly byte[] _instance = RandomNumberGenerator.GetBytes(16);

    public NodeDialer(
        ProxyEntrySettings settings, NodeCertificates certificates, IEngine engine, StalledTransfers stalled, TimeProvider timeProvider)
    {
        _settings = settings;
        _certificates = certificates;
        _engine = engine;
        _stalled = stalled;
        _timeProvider = timeProvider;
    }

    /// <summary>The version that peers show in their logs.</summary>
    public static string Version { get; } =
        typeof(NodeDialer).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion.Split('+')[0] ?? "";

    /// <summary>Connects.</summary>
    /// <param name="location">The node.</param>
    /// <returns>The uplink, which its caller runs with the bytes that came after the handshake; or why there is none.</returns>
    public async Task<(UplinkConnection? Uplink, ReadOnlyMemory<byte> After, string Problem)> DialAsync(NodeLocation location)
    {
        // What follows a tilde distinguishes two processes of one EntryId; their certificate is the same.
        location = location with { NodeId = location.NodeId.Split('~')[0] };
        IUplinkTransport transport;
        try
        {
            transport = await ConnectAsync(location.LinkAddress).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            return (null, default, "no answer in time");
        }
        catch (Exception exception) when (exception is SocketException or IOException)
        {
            return (null, default, exception.Message);
        }

        UplinkConnection? uplink = null;
        try
        {
            var verdict = new NodeVerdict();
            var result = await TlsHandshake.ConnectAsync(
                transport, TlsHandshake.NodeProtocol, _certificates.ForNode(location.NodeId, verdict), ProtocolLimits.HandshakeTimeout,
                _timeProvider, CancellationToken.None).ConfigureAwait(false);
            if (result.Status != TlsHandshakeStatus.Done)
            {
                return (null, default, verdict.Problem ?? Describe(result));
            }

            transport = result.Transport!;
            (uplink, var rest, var problem) = await GreetAsync(result.Transport!, location).ConfigureAwait(false);
            return (uplink, rest, problem);
        }
        finally
        {
            if (uplink is null)
            {
                await transport.DisposeAsync().ConfigureAwait(false);
            }
        }
    }

    private static string Describe(TlsHandshakeResult result) => result.Status switch
    {
        TlsHandshakeStatus.TimedOut => "no answer in time",
        TlsHandshakeStatus.NotTls or TlsHandshakeStatus.OtherProtocol => "what answers there is no node",
        TlsHandshakeStatus.Closed => "it has closed the connection in the TLS handshake",
        _ => $"TLS: {result.Detail}",
    };

    private async Task<(UplinkConnection? Uplink, ReadOnlyMemory<byte> After, string Problem)> GreetAsync(
        TlsTransport transport, NodeLocation location)
    {
        var hello = new HelloMessage
        {
            AgentName = "tunnel2-entry",
            AgentVersion = Version,
            InstanceKey = _instance,
            Capabilities = HandshakeCapabilities.NodeLink,
            WantedName = location.NodeId,
            AgentId = _settings.EntryId,
        };
        HandshakeReadResult answer;
        try
        {
            await transport.SendAsync(hello.ToFrame()).ConfigureAwait(false);
            answer = await HandshakeFrameReader.ReadAsync(
                transport, static type => type is FrameType.Welcome or FrameType.Reject, ProtocolLimits.HandshakeTimeout, _timeProvider,
                CancellationToken.None).ConfigureAwait(false);
        }
        catch (IOException)
        {
            answer = default;
            answer = answer with { Status = HandshakeReadStatus.Closed };
        }

        if (answer.Status != HandshakeReadStatus.Frame)
        {
            return (null, default, answer.Status switch
            {
                HandshakeReadStatus.Closed => "it has closed the connection in the handshake: its log says why",
                HandshakeReadStatus.TimedOut => "no answer in time",
                _ => answer.Error.ToString(),
            });
        }

        if (answer.Type == FrameType.Reject)
        {
            return RejectMessage.TryRead(answer.Payload.Span, out var reject) == ProtocolError.None
                ? (null, default, reject!.Text)
                : (null, default, nameof(ProtocolError.MalformedHandshake));
        }

        if (WelcomeMessage.TryRead(answer.Payload.Span, out var welcome) != ProtocolError.None
            || (welcome!.Capabilities & HandshakeCapabilities.NodeLink) == 0
            || welcome.Name != location.NodeId)
        {
            return (null, default, "its answer is not that of the node");
        }

        var settings = SettingsFor(UplinkRole.Entry) with
        {
            SendStreamWindow = welcome.StreamWindow,
            SendUplinkWindow = welcome.UplinkWindow,
            MaxStreams = Math.Min(welcome.MaxStreams, hello.MaxStreams),
        };
        return (new UplinkConnection(transport, settings), answer.Rest, "");
    }

    /// <summary>The settings of a link, before what the peer grants.</summary>
    public UplinkSettings SettingsFor(UplinkRole role) => _engine.Apply(new UplinkSettings
    {
        Role = role,
        IsNodeLink = true,
        ReceiveBudget = _stalled.Budget,
        TimeProvider = _timeProvider,
    });

    private async Task<IUplinkTransport> ConnectAsync(string address)
    {
        var colon = address.LastIndexOf(':');
        if (colon <= 0 || !ushort.TryParse(address.AsSpan(colon + 1), System.Globalization.CultureInfo.InvariantCulture, out var port))
        {
            throw new IOException("its address is not host:port");
        }

        using var limit = new CancellationTokenSource(_connectTimeout, _timeProvider);
        var host = address[..colon].Trim('[', ']');
        var addresses = IPAddress.TryParse(host, out var literal)
            ? [literal]
            : await Dns.GetHostAddressesAsync(host, limit.Token).ConfigureAwait(false);
        var failure = new SocketException((int)SocketError.HostNotFound);
        foreach (var one in addresses)
        {
            try
            {
                return await ConnectAsync(new IPEndPoint(one, port), limit.Token).ConfigureAwait(false);
            }
            catch (SocketException exception)
            {
                failure = exception;
            }
        }

        throw failure;
    }

    /// <summary>On the loop that the link will live on: see the same in the agent.</summary>
    private async Task<IUplinkTransport> ConnectAsync(IPEndPoint endPoint, CancellationToken limit)
    {
        if (_engine.NextLoop() is { } loop)
        {
            var (channel, error) = await EpollConnector.ConnectAsync(loop, endPoint, limit).ConfigureAwait(false);
            return channel?.AsUplink(endPoint) ?? throw new SocketException((int)error);
        }

        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            await socket.ConnectAsync(endPoint, limit).ConfigureAwait(false);
            return _engine.CreateUplinkTransport(socket);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }
}
