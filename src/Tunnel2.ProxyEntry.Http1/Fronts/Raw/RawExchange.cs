using System.IO.Pipelines;
using System.Net;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Routing;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <summary>
/// A visitor's connection without HTTP, as the forwarder sees it: a request to switch to raw bytes (docs/protocol.md section 9), of which
/// the visitor knows nothing. So limits, waiting for the agent, metrics, records and logs are those of requests.
/// </summary>
internal sealed class RawExchange(RawConnection connection, RawTarget target, ForwardedRequest request) : VisitorExchange
{
    private bool _hasStarted;

    /// <summary>Why the node of the session refused the connection; null: it did not. That node has counted and logged it.</summary>
    public ProxyError? Refusal { get; private set; }

    /// <inheritdoc/>
    public override string Method => "CONNECT";

    /// <inheritdoc/>
    public override string Authority => target.Authority;

    /// <inheritdoc/>
    public override string Target => target.Text;

    /// <inheritdoc/>
    public override IPAddress? RemoteAddress => connection.Source?.Address;

    /// <inheritdoc/>
    public override bool HasBody => false;

    /// <inheritdoc/>
    public override bool ExpectsContinue => false;

    /// <inheritdoc/>
    public override bool IsUpgrade => true;

    /// <inheritdoc/>
    public override bool IsRaw => true;

    /// <inheritdoc/>
    public override object? Place => target.Kind == SessionKind.Udp ? null : connection;

    /// <inheritdoc/>
    public override ProxyError? Fault => null;

    /// <inheritdoc/>
    public override string RequestId => connection.Id;

    /// <inheritdoc/>
    public override long BytesHeldUnread => connection.ReadAhead;

    /// <inheritdoc/>
    public override PipeReader RequestBody => connection.Input;

    /// <inheritdoc/>
    public override bool HasResponseStarted => _hasStarted;

    /// <inheritdoc/>
    public override bool ResponseMayHaveBody => false;

    /// <inheritdoc/>
    public override PipeScheduler? Home => connection.Loop?.Loop;

    /// <inheritdoc/>
    public override CancellationToken VisitorLeft => connection.VisitorLeft;

    /// <inheritdoc/>
    public override RequestAddress Address => new(target.Host, "");

    /// <inheritdoc/>
    public override bool Suits(EntrySession session) => target.IsOf(session);

    /// <inheritdoc/>
    public override bool TryMoveTo(PipeScheduler home) => home is EpollLoop loop && connection.Loop!.TryMoveTo(loop);

    /// <inheritdoc/>
    public override int CopyForwardedFor(Span<byte> destination) => 0;

    /// <inheritdoc/>
    public override void Forward(in PathAddress path)
    {
        // There is no path.
    }

    /// <inheritdoc/>
    public override void WriteRequestBlock(ref HeaderBlockWriter writer)
    {
        writer.BeginRequest(HeaderBlockFlags.Upgrade, Method, target.Scheme, target.Authority, "");
        if (connection is { Source: { } source, Destination: { } destination })
        {
            writer.AddField("Tunnel2-Source", PlainAddress.Of(source).ToString());
            writer.AddField("Tunnel2-Destination", PlainAddress.Of(destination).ToString());
        }
    }

    /// <inheritdoc/>
    public override bool WriteInterim(scoped in HeaderBlock head) => false;

    /// <inheritdoc/>
    public override bool TryStartResponse(scoped in HeaderBlock head, bool declaresLength)
    {
        if (head.Status == StatusCodes.Status101SwitchingProtocols)
        {
            return true;
        }

        Refusal = request.IsCarried ? NodeErrors.Of(head) : null;
        return Refusal is not null;
    }

    /// <inheritdoc/>
    public override void WriteBody(ReadOnlySpan<byte> data) => throw new NotSupportedException("A connection without HTTP has no body.");

    /// <inheritdoc/>
    public override ValueTask<bool> FlushAsync() => new(true);

    /// <inheritdoc/>
    public override void SendTrailers(scoped in HeaderBlock trailers)
    {
        // A connection without HTTP has none.
    }

    /// <inheritdoc/>
    public override ValueTask<UpgradedConnection> UpgradeAsync()
    {
        _hasStarted = true;
        return new ValueTask<UpgradedConnection>(new RawBytes(connection));
    }

    /// <inheritdoc/>
    public override Task WriteErrorAsync(ProxyError error, ErrorDetails details)
    {
        Refusal = null;
        return connection.RefuseAsync(error);
    }

    /// <inheritdoc/>
    public override Task WriteAnswerAsync(ErrorResponse answer) =>
        throw new NotSupportedException("A connection without HTTP has no answers.");

    /// <inheritdoc/>
    public override async ValueTask CutAsync(bool isShort)
    {
        await connection.DeliverAsync().ConfigureAwait(false);
        connection.Abort();
    }

    /// <inheritdoc/>
    public override void Abort() => connection.Abort();

    /// <summary>The connection's bytes.</summary>
    private sealed class RawBytes(RawConnection connection) : UpgradedConnection
    {
        public override PipeReader Input => connection.Input;

        public override ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data) => connection.SendAsync(data);

        public override ValueTask<bool> EndSendAsync() => connection.EndSendAsync();
    }
}
