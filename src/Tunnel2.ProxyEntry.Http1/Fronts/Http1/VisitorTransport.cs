using System.IO.Pipelines;
using System.Net;
using System.Net.Security;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Fronts.Http1.Output;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>What the front needs of a connection, for connections of every kind.</summary>
internal sealed class VisitorTransport
{
    /// <summary>On the event loop bytes are received when they are read, so at most one read's bytes are held.</summary>
    private const int LoopReadAhead = 64 * 1024;

    /// <summary>Kestrel's default of <c>MaxRequestBufferSize</c>, which limits its transports.</summary>
    private const int PipeReadAhead = 1024 * 1024;

    /// <summary>The visitor's bytes.</summary>
    public required PipeReader Input { get; init; }

    /// <summary>The transport's sending pipe; completed at the end, in order or not.</summary>
    public required PipeWriter OutputPipe { get; init; }

    /// <summary>Where responses are written.</summary>
    public required VisitorOutput Output { get; init; }

    /// <summary>The connection itself, as the listener tracks it.</summary>
    public ConnectionContext? Connection { get; init; }

    /// <summary>The connection's name in logs.</summary>
    public required string Id { get; init; }

    /// <summary>Whether a <see cref="PipeReader.TryRead"/> of the input sees all that has arrived.</summary>
    public bool SeesUnread { get; init; }

    /// <summary>Whether the visitor speaks TLS.</summary>
    public bool IsTls { get; init; }

    /// <summary>What its handshake said about the visitor's certificate; null: it asked for none.</summary>
    public VisitorCertificate? Certificate { get; init; }

    /// <summary>How many bytes the transport holds at most while no code reads.</summary>
    public int ReadAhead { get; init; } = PipeReadAhead;

    /// <summary>The peer.</summary>
    public IPEndPoint? Remote { get; init; }

    /// <summary>The address that the visitor called.</summary>
    public IPEndPoint? Local { get; init; }

    /// <summary>The port that the visitor called.</summary>
    public int LocalPort => Local?.Port ?? 0;

    /// <summary>Whether sent bytes still reach the visitor; null if only the next write shows it.</summary>
    public IVisitorLinkFeature? Link { get; init; }

    /// <summary>The connection's loop, and how it moves; null if the engine has no loops.</summary>
    public ILoopFeature? Loop { get; init; }

    /// <summary>Signalled when the visitor's direction has ended, in order or not.</summary>
    public CancellationToken InputEnded { get; init; }

    /// <summary>Signalled when the server stops.</summary>
    public CancellationToken Stopping { get; init; }

    /// <summary>Aborts the connection, so that the visitor cannot take the bytes so far for a complete answer. From any thread.</summary>
    public required Action Abort { get; init; }

    /// <summary>Whether the visitor agreed on HTTP/2 in its TLS handshake.</summary>
    public static bool SpeaksHttp2(ConnectionContext connection) =>
        connection.Features.Get<ITlsApplicationProtocolFeature>()?.ApplicationProtocol.Span.SequenceEqual(
            SslApplicationProtocol.Http2.Protocol.Span) == true;

    /// <summary>The parts of a connection on the event loop.</summary>
    public static VisitorTransport Of(EpollConnectionContext connection, CancellationToken stopping) => new()
    {
        Connection = connection,
        Input = connection.Transport.Input,
        OutputPipe = connection.Transport.Output,
        Output = new PipeOutput(connection.Transport.Output, tls: null, endsByCompletion: true),
        Id = connection.ConnectionId,
        Abort = connection.Abort,
        Link = connection,
        Loop = connection,
        SeesUnread = true,
        ReadAhead = LoopReadAhead,
        Remote = connection.RemoteEndPoint as IPEndPoint,
        Local = connection.LocalEndPoint as IPEndPoint,
        InputEnded = connection.ConnectionClosed,
        Stopping = stopping,
    };

    /// <summary>The parts of one of Kestrel's connections.</summary>
    public static VisitorTransport Of(ConnectionContext connection, BufferPool buffers)
    {
        var isTls = connection.Features.Get<ITlsHandshakeFeature>() is not null;
        var isOnLoop = !isTls && connection.Features.Get<ILoopFeature>() is not null;
        var socket = isTls ? null : connection.Features.Get<IConnectionSocketFeature>()?.Socket;
        var link = connection.Features.Get<IVisitorLinkFeature>()
            ?? (socket is null ? null : new WatchedTransport(connection.Transport, null, socket));
        return new VisitorTransport
        {
            Connection = connection,
            Input = connection.Transport.Input,
            OutputPipe = connection.Transport.Output,
            Output = socket is null
                ? new PipeOutput(
                    connection.Transport.Output,
                    connection.Features.Get<ISslStreamFeature>()?.SslStream,
                    endsByCompletion: isOnLoop,
                    isTls ? link : null)
                : new SocketOutput(socket, buffers),
            Id = connection.ConnectionId,
            Abort = () => connection.Abort(new ConnectionAbortedException("The exchange was cut off.")),
            Link = link,
            Loop = connection.Features.Get<ILoopFeature>(),
            SeesUnread = isOnLoop,
            IsTls = isTls,
            Certificate = isTls ? connection.Features.Get<VisitorCertificate>() : null,
            ReadAhead = isOnLoop ? LoopReadAhead : PipeReadAhead,
            Remote = connection.RemoteEndPoint as IPEndPoint,
            Local = connection.LocalEndPoint as IPEndPoint,
            InputEnded = connection.ConnectionClosed,
            Stopping = connection.Features.Get<IConnectionLifetimeNotificationFeature>()?.ConnectionClosedRequested ?? default,
        };
    }
}
