using System.Globalization;
using System.IO.Pipelines;
using System.Net;
using System.Text;
using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Routing;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>
/// A visitor's exchange on a connection of our own front: the request. One object per connection, reused for each request. The head's bytes
/// belong to the connection and stay valid until the exchange is over.
/// </summary>
internal sealed partial class Http1Exchange : VisitorExchange
{
    /// <summary>The memory of a connection and a request's head, roughly, in bytes.</summary>
    private const long HeadAndConnection = 16 * 1024;

    private readonly Http1Connection _connection;
    private readonly VisitorFields _fields;
    private readonly long _bodyLimit;
    private ReadOnlyMemory<byte> _head;
    private ByteRange _authority;
    private ByteRange _target;
    private byte[]? _madeTarget;
    private PathAddress _path;
    private ProxyError? _fault;
    private bool _isUpgrade;
    private bool _isWhole;
    private string _authorityText = "";
    private string _targetText = "";
    private long _requests;

    public Http1Exchange(Http1Connection connection, VisitorFields fields, RequestHeadParser parser, Http1RequestBody body, long bodyLimit)
    {
        _connection = connection;
        _fields = fields;
        Parser = parser;
        Body = body;
        _bodyLimit = bodyLimit;
    }

    /// <summary>The forwarder's state of the request.</summary>
    public ForwardedRequest State { get; } = new();

    /// <summary>The request's head.</summary>
    public RequestHeadParser Parser { get; }

    /// <summary>The request's body.</summary>
    public Http1RequestBody Body { get; }

    /// <inheritdoc/>
    public override string Method => Parser.KnownMethod switch
    {
        KnownMethod.Get => "GET",
        KnownMethod.Head => "HEAD",
        KnownMethod.Post => "POST",
        KnownMethod.Put => "PUT",
        KnownMethod.Patch => "PATCH",
        KnownMethod.Delete => "DELETE",
        KnownMethod.Options => "OPTIONS",
        _ => Encoding.Latin1.GetString(Bytes(Parser.Method)),
    };

    /// <inheritdoc/>
    public override string Authority => Text(Bytes(_authority), ref _authorityText);

    /// <inheritdoc/>
    public override string Target => Text(Bytes(Parser.PathAndQuery), ref _targetText);

    /// <inheritdoc/>
    public override IPAddress? RemoteAddress => _fields.Address;

    /// <inheritdoc/>
    public override void GiveUpPlace() => _connection.EvictAfterwards();

    /// <inheritdoc/>
    public override bool HasBody => Parser.BodyKind != BodyKind.None;

    /// <inheritdoc/>
    public override long BytesHeldUnread =>
        (HasBody ? Math.Min(Parser.ContentLength ?? long.MaxValue, _connection.ReadAhead) : 0) + HeadAndConnection;

    /// <inheritdoc/>
    public override bool ExpectsContinue => Parser.ExpectContinue && HasBody;

    /// <inheritdoc/>
    public override bool IsUpgrade => _isUpgrade;

    /// <summary>Whether it is a request of gRPC or gRPC-Web.</summary>
    public bool IsGrpc { get; private set; }

    /// <inheritdoc/>
    public override bool IsSecure => _fields.IsTls || (_fields.IsTrusted && ProxiedVisitor.SaysHttps(this));

    /// <inheritdoc/>
    public override bool IsTls => _fields.IsTls;

    /// <inheritdoc/>
    public override VisitorCertificate? Certificate => _connection.Certificate;

    /// <inheritdoc/>
    public override bool IsFromTrustedProxy => _fields.IsTrusted;

    /// <inheritdoc/>
    public override long? DeclaredLength => Parser.ContentLength;

    /// <inheritdoc/>
    public override string ForwardedTarget => Encoding.Latin1.GetString(TargetToForward(_head.Span));

    /// <inheritdoc/>
    public override ProxyError? Fault => _fault;

    /// <inheritdoc/>
    public override string RequestId => string.Create(CultureInfo.InvariantCulture, $"{_connection.Id}:{_requests:X8}");

    /// <inheritdoc/>
    public override PipeReader RequestBody => Body;

    /// <inheritdoc/>
    public override bool HasRequestTrailers => Body.Trailers is not null;

    /// <inheritdoc/>
    public override PipeScheduler? Home => _connection.Loop?.Loop;

    /// <inheritdoc/>
    public override bool IsSettled => _requests > 1;

    /// <inheritdoc/>
    public override CancellationToken VisitorLeft => _connection.VisitorLeft;

    /// <inheritdoc/>
    public override bool TryMoveTo(PipeScheduler home) => home is EpollLoop loop && _connection.Loop!.TryMoveTo(loop);

    /// <inheritdoc/>
    public override int WriteRequestId(Span<char> destination)
    {
        var length = _connection.Id.Length + 1;
        if (length > destination.Length || !_requests.TryFormat(destination[length..], out var digits, "X8", CultureInfo.InvariantCulture))
        {
            return 0;
        }

        _connection.Id.CopyTo(destination);
        destination[length - 1] = ':';
        return length + digits;
    }

    /// <inheritdoc/>
    public override int CopyMethod(Span<byte> destination) => Copy(Bytes(Parser.Method), destination);

    /// <inheritdoc/>
    public override int CopyTarget(Span<byte> destination) => Copy(Bytes(Parser.PathAndQuery), destination);

    /// <inheritdoc/>
    public override int CopyForwardedTarget(Span<byte> destination) => Copy(TargetToForward(_head.Span), destination);

    /// <inheritdoc/>
    public override int CopyForwardedFor(Span<byte> destination) =>
        _isWhole ? _fields.CopyForwardedFor(Parser, _head.Span, destination) : 0;

    /// <inheritdoc/>
    public override int CopyField(ReadOnlySpan<byte> name, Span<byte> destination)
    {
        var head = _head.Span;
        var found = -1;
        foreach (ref readonly var field in Parser.Fields)
        {
            if (field.NameLength != name.Length || !Ascii.EqualsIgnoreCase(field.Name(head), name))
            {
                continue;
            }

            if (found >= 0 || !field.Value(head).TryCopyTo(destination))
            {
                return -1;
            }

            found = field.ValueLength;
        }

        return found;
    }

    /// <inheritdoc/>
    public override string[] FieldValues(string name, bool withLookalikes)
    {
        var head = _head.Span;
        List<string>? values = null;
        foreach (ref readonly var field in Parser.Fields)
        {
            if (FieldLookalikes.IsMeant(name, field.Name(head), withLookalikes) && !VisitorFields.IsLeftOut(Parser, head, field))
            {
                (values ??= []).Add(Encoding.Latin1.GetString(field.Value(head)));
            }
        }

        return values?.ToArray() ?? [];
    }

    /// <summary>Begins a request.</summary>
    /// <param name="head">Its head; for a refused request, the part that was read.</param>
    /// <param name="fault">The error for which it is refused, or null.</param>
    public void Begin(ReadOnlyMemory<byte> head, ProxyError? fault)
    {
        _requests++;
        _head = head;
        _isWhole = fault is null;
        _madeTarget = null;
        _path = default;
        _authority = Parser.HostCount > 0 ? Parser.Host : Parser.TargetAuthority;
        _target = Parser.PathAndQuery;
        BeginResponse();
        IsGrpc = fault is null && HasBody && ErrorAnswer.IsGrpc(Parser, head.Span);
        if (fault is not null)
        {
            _fault = fault;
            _isUpgrade = false;
            Body.Begin(BodyKind.None, 0, 0);
            return;
        }

        _isUpgrade = Parser.IsUpgrade && !HasBody && AsksForProtocol(head.Span);
        _fault = Parser.ContentLength > _bodyLimit ? ProxyError.RequestBodyTooLarge : null;
        Body.Begin(Parser.BodyKind, Parser.ContentLength ?? 0, _bodyLimit);
    }

    /// <summary>Whether the request, which asks to switch protocols, is an agent's that wants an uplink over WebSocket.</summary>
    public bool AsksForUplink => _fault is null && UplinkRequest.IsMeant(Parser, _head.Span);

    /// <summary>Reads such a request.</summary>
    public UplinkRequest ReadUplinkRequest() => UplinkRequest.Read(Parser, _head.Span);

    /// <summary>The head was moved to other memory.</summary>
    public void HeadMoved(ReadOnlyMemory<byte> head) => _head = head;

    /// <inheritdoc/>
    public override RequestAddress Address => new(Bytes(_authority), Bytes(_target));

    /// <inheritdoc/>
    public override void Forward(in PathAddress path) => _path = path;

    /// <inheritdoc/>
    public override void WriteRequestBlock(ref HeaderBlockWriter writer)
    {
        var head = _head.Span;
        var authority = _authority.Of(head);
        writer.BeginRequest(
            _isUpgrade ? HeaderBlockFlags.Upgrade : HeaderBlockFlags.None,
            Parser.Method.Of(head),
            _fields.Scheme,
            authority,
            TargetToForward(head));
        IsInLoop = _fields.Write(ref writer, Parser, head, authority, _isUpgrade, Extras, GoesToNode);
    }

    /// <inheritdoc/>
    public override bool TryWriteRequestTrailers(ref HeaderBlockWriter writer)
    {
        Body.Trailers?.Write(ref writer, Parser, _head.Span, Extras?.RequestEdits);
        return true;
    }

    /// <summary>Whether the visitor offers a protocol that is more than another way to carry HTTP on this connection.</summary>
    private bool AsksForProtocol(ReadOnlySpan<byte> head)
    {
        foreach (ref readonly var field in Parser.Fields)
        {
            if (field.Known == KnownField.Upgrade && UpgradeSyntax.HasForwardable(field.Value(head)))
            {
                return true;
            }
        }

        return false;
    }

    private ReadOnlySpan<byte> TargetToForward(ReadOnlySpan<byte> head)
    {
        var target = _target.Of(head)[_path.RestStart..];
        if (!_path.NeedsSlash && !target.IsEmpty && target[0] != (byte)'?')
        {
            return target;
        }

        // RFC 9112 section 3.2.4: OPTIONS of a URI with neither path nor query is for the server as a whole.
        if (!_path.NeedsSlash && target.IsEmpty && Parser.KnownMethod == KnownMethod.Options)
        {
            return "*"u8;
        }

        // RFC 9112 section 3.2.1: an empty path is sent as one slash.
        return _madeTarget ??= [(byte)'/', .. target];
    }

    /// <summary>A part of the head; empty if it belongs to an incomplete head that has been released.</summary>
    private ReadOnlySpan<byte> Bytes(ByteRange range) => range.Offset + range.Length <= _head.Length ? range.Of(_head.Span) : default;

    private static int Copy(ReadOnlySpan<byte> bytes, Span<byte> destination)
    {
        var length = Math.Min(bytes.Length, destination.Length);
        bytes[..length].CopyTo(destination);
        return length;
    }

    /// <summary>Visitors often repeat the same text, so a string is made only when it differs from the last one.</summary>
    private static string Text(ReadOnlySpan<byte> bytes, ref string last)
    {
        if (last.Length != bytes.Length || !Ascii.Equals(bytes, last))
        {
            last = Encoding.Latin1.GetString(bytes);
        }

        return last;
    }
}
