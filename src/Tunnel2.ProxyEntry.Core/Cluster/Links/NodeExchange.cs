using System.Diagnostics.CodeAnalysis;
using System.IO.Pipelines;
using System.Net;
using System.Runtime.CompilerServices;
using System.Text;
using Tunnel2.Http1;
using Tunnel2.Http1.Syntax;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Routing;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// A visitor's exchange that came from another node: the request. The entering node has written the forwarding fields and removed those of
/// its hop; everything else, such as rules, limits and records, happens here as for a visitor of this node. Used again for later streams.
/// </summary>
/// <remarks>
/// It owns the stream until <see cref="TunnelStream.Release"/>, and the copy of the head. It lets go of both when the forwarder is done and
/// nothing waits on the stream.
/// </remarks>
[SuppressMessage(
    "Design", "CA1001", Justification = "A source of cancellation without a timer and a wait handle holds nothing to dispose of.")]
internal sealed partial class NodeExchange : VisitorExchange
{
    /// <summary>The memory of a stream and a request's head, roughly, in bytes.</summary>
    private const long HeadAndStream = 4 * 1024;

    private readonly ProxyEntrySettings _settings;
    private readonly byte[] _suffix;
    private readonly Func<string> _node;
    private readonly Action<NodeExchange> _done;
    private readonly Action _finish;
    private readonly NodeRequestBody _body = new();
    private readonly char[] _name = new char[DomainName.MaxLength];
    private readonly byte[] _host;
    private readonly ForwardedRequest _state = new();
    private readonly ShortLock _gate = new();
    private CancellationTokenSource _left = new();
    private ValueTaskAwaiter _running;
    private TunnelStream _stream = null!;
    private BufferPool _buffers = null!;
    private StreamId _id;
    private bool _hasLeft;
    private IPAddress? _address;
    private AgentIdentity? _owner;
    private byte[] _head = [];
    private int _headLength;
    private int _nameLength;
    private ByteRange _block;
    private ByteRange _method;
    private ByteRange _authority;
    private ByteRange _target;
    private ByteRange _requestId;
    private ByteRange _forwardedFor;
    private NodeRequestFacts _facts;
    private bool _isUpgrade;
    private bool _hasBody;
    private bool _isDomain;

    /// <param name="settings">The domain of public names, and limits.</param>
    /// <param name="node">Names this node.</param>
    /// <param name="peer">The other node, as its certificate says.</param>
    /// <param name="done">Called when the object may serve another stream.</param>
    public NodeExchange(ProxyEntrySettings settings, Func<string> node, string peer, Action<NodeExchange> done)
    {
        Peer = peer;
        _settings = settings;
        _suffix = Encoding.ASCII.GetBytes("." + settings.Domain);
        _host = new byte[PublicName.MaxLength + _suffix.Length];
        _node = node;
        _done = done;
        _finish = Finish;
    }

    /// <summary>The node that it came from.</summary>
    public string Peer { get; }

    /// <summary>The name that the request is for.</summary>
    public ReadOnlySpan<char> Name => _name.AsSpan(0, _nameLength);

    /// <inheritdoc/>
    public override string Method => Text(_method);

    /// <inheritdoc/>
    public override string Authority => Text(_authority);

    /// <inheritdoc/>
    public override string Target => _raw is { } raw ? raw.Text : Text(_target);

    /// <inheritdoc/>
    public override IPAddress? RemoteAddress => _address;

    /// <inheritdoc/>
    public override bool HasBody => _hasBody;

    /// <inheritdoc/>
    public override bool ExpectsContinue => _hasBody && (_facts & NodeRequestFacts.ExpectsContinue) != 0;

    /// <inheritdoc/>
    public override bool IsUpgrade => _isUpgrade;

    /// <inheritdoc/>
    public override object? Place => null;

    /// <inheritdoc/>
    public override bool IsSecure => (_facts & NodeRequestFacts.Https) != 0;

    /// <inheritdoc/>
    public override bool IsFromTrustedProxy => (_facts & NodeRequestFacts.TrustedProxy) != 0;

    /// <inheritdoc/>
    public override bool IsFromNode => true;

    /// <inheritdoc/>
    public override AgentIdentity? AwaitedOwner => _owner;

    /// <inheritdoc/>
    public override long? DeclaredLength
    {
        get
        {
            Span<byte> value = stackalloc byte[32];
            var length = CopyField("content-length"u8, value);
            return length > 0 && ContentLengthSyntax.TryParse(value[..length], out var declared) ? declared : null;
        }
    }

    /// <inheritdoc/>
    public override ProxyError? Fault => null;

    /// <inheritdoc/>
    public override string RequestId => Text(_requestId);

    /// <inheritdoc/>
    /// <remarks>The entering node has the visitor's connection, and answers a broken body itself.</remarks>
    public override bool CanAnswerBrokenBody => false;

    /// <inheritdoc/>
    public override long BytesHeldUnread => (_hasBody ? _stream.Uplink.Settings.ReceiveStreamWindow : 0) + HeadAndStream;

    /// <inheritdoc/>
    public override PipeReader RequestBody => _body;

    /// <inheritdoc/>
    public override bool HasRequestTrailers => _body.Trailers is not null;

    /// <inheritdoc/>
    public override PipeScheduler? Home =>
        _stream.Uplink.Settings.InlineContinuations ? _stream.Uplink.Settings.WriterScheduler : null;

    /// <inheritdoc/>
    public override bool IsSettled => true;

    /// <inheritdoc/>
    public override CancellationToken VisitorLeft => _left.Token;

    /// <inheritdoc/>
    public override int? VisitorResetCode => _stream.PeerResetDetail.Http2Code();

    /// <inheritdoc/>
    public override RequestAddress Address => _isDomain
        ? new(Bytes(_authority), Bytes(_target))
        : new(_host.AsSpan(0, _nameLength + _suffix.Length), Bytes(_target));

    /// <inheritdoc/>
    public override int CopyMethod(Span<byte> destination) => Copy(_method, destination);

    /// <inheritdoc/>
    public override int CopyTarget(Span<byte> destination) => _raw is null ? Copy(_target, destination) : base.CopyTarget(destination);

    /// <inheritdoc/>
    public override int CopyForwardedTarget(Span<byte> destination) => CopyTarget(destination);

    /// <inheritdoc/>
    public override int CopyForwardedFor(Span<byte> destination) => Copy(_forwardedFor, destination);

    /// <inheritdoc/>
    public override int WriteRequestId(Span<char> destination)
    {
        var id = Bytes(_requestId);
        return Encoding.Latin1.GetChars(id[..Math.Min(id.Length, destination.Length)], destination);
    }

    /// <inheritdoc/>
    public override int CopyField(ReadOnlySpan<byte> name, Span<byte> destination)
    {
        var found = -1;
        foreach (var field in Read().Fields)
        {
            if (field.Name.Length == name.Length && Ascii.EqualsIgnoreCase(field.Name, name))
            {
                if (found >= 0 || !field.Value.TryCopyTo(destination))
                {
                    return -1;
                }

                found = field.Value.Length;
            }
        }

        return found;
    }

    /// <inheritdoc/>
    public override string[] FieldValues(string name, bool withLookalikes)
    {
        List<string>? values = null;
        foreach (var field in Read().Fields)
        {
            if (FieldLookalikes.IsMeant(name, field.Name, withLookalikes))
            {
                (values ??= []).Add(Encoding.Latin1.GetString(field.Value));
            }
        }

        return values?.ToArray() ?? [];
    }

    /// <summary>Takes a stream's request over.</summary>
    /// <returns>False when it is none; then the stream is still the caller's.</returns>
    public bool TryBegin(TunnelStream stream)
    {
        if (!stream.TryRead(out var item) || item.Kind != StreamItemKind.Head)
        {
            return false;
        }

        _buffers = stream.Uplink.Settings.Buffers;
        _headLength = item.Memory.Length;
        _head = _buffers.Rent(_headLength);
        item.Memory.Span.CopyTo(_head);
        stream.ConsumeHead();
        var bytes = _head.AsSpan(0, _headLength);
        if (NodeRequest.TryRead(bytes, out var node, out var block) != ProtocolError.None || !IsName(node.Name))
        {
            ReturnHead();
            return false;
        }

        _stream = stream;
        using (_gate.EnterScope())
        {
            // A source that was not used serves the next request too.
            _left = _hasLeft ? new CancellationTokenSource() : _left;
            _hasLeft = false;
            _id = stream.Id;
        }

        _facts = node.Facts;
        _block = RangeOf(node.Block);
        _method = RangeOf(block.Method);
        _authority = RangeOf(block.Authority);
        _target = RangeOf(block.Target);
        _requestId = RangeOf(node.RequestId);
        _forwardedFor = RangeOf(node.ForwardedFor);
        _owner = node.Owner.IsEmpty ? null : AgentIdentity.OfValue(Encoding.UTF8.GetString(node.Owner));
        _isUpgrade = (block.Flags & HeaderBlockFlags.Upgrade) != 0;
        _hasBody = !item.IsLast && !_isUpgrade;
        _nameLength = Encoding.Latin1.GetChars(node.Name, _name);
        _isDomain = node.Name.Contains((byte)'.');
        if (!_isDomain)
        {
            node.Name.CopyTo(_host);
            _suffix.CopyTo(_host.AsSpan(_nameLength));
        }

        // What is for the node itself does not come to the forwarder, which does the same.
        ForgetLast();
        _state.Error = null;
        SetAddress(node.Address);
        BeginRaw(block);
        _body.Begin(stream, item.IsLast);
        BeginResponse();
        stream.NotifyReset(static (self, id) => ((NodeExchange)self!).OnReset(id), this);
        return true;
    }

    /// <summary>Serves it; returns at its first wait.</summary>
    [SuppressMessage("Reliability", "CA2012", Justification = "Awaited by hand, and once, as in the agent's BackendExchange.")]
    public void Start(IForwarder forwarder)
    {
        _running = RunAsync(forwarder).GetAwaiter();
        if (_running.IsCompleted)
        {
            Finish();
        }
        else
        {
            _running.UnsafeOnCompleted(_finish);
        }
    }

    /// <summary>The session is not here: nothing was done with the request.</summary>
    public void Refuse()
    {
        _stream.Reset(StreamResetReason.Refused, StreamResetDetail.SessionLeft);
        Release();
        _done(this);
    }

    /// <inheritdoc/>
    public override void Forward(in PathAddress path)
    {
        // The entering node has taken the name out of the target, where it was there.
    }

    /// <inheritdoc/>
    public override void WriteRequestBlock(ref HeaderBlockWriter writer)
    {
        var request = Read();
        var flags = request.Flags & (HeaderBlockFlags.Upgrade | HeaderBlockFlags.Http2);
        writer.BeginRequest(flags, request.Method, request.Scheme, request.Authority, request.Target);
        var edits = Extras?.RequestEdits;
        foreach (var field in request.Fields)
        {
            if (_raw is not null)
            {
                // The addresses of the visitor's connection, which the entering node knows.
                writer.AddField(field.Name, field.Value);
                continue;
            }

            var known = KnownFields.Classify(field.Name);
            switch (FieldRules.OfRequest(known))
            {
                // Nothing of it is the visitor's word any more: the entering node has written, or checked, what is left.
                case FieldRule.Forwarding or FieldRule.TrustedForwarding or FieldRule.Protocols or FieldRule.Trailers:
                    writer.AddField(field.Name, field.Value);
                    continue;
                case FieldRule.Pass or FieldRule.Keep:
                case FieldRule.Credentials when Extras is not { HasUsedCredentials: true }:
                case FieldRule.Trace when Extras is null || !Extras.Replaces(known):
                    break;
                default:
                    continue;
            }

            var value = field.Value;
            if (edits is not null && edits.Drops(known, field.Name, ref value))
            {
                continue;
            }

            if (known == KnownField.Cookie && SignInCookie.MayBeIn(value))
            {
                SignInCookie.WriteOthers(ref writer, field.Name, value);
                continue;
            }

            writer.AddField(field.Name, value);
        }

        Extras?.WriteRequestFields(ref writer);
    }

    /// <inheritdoc/>
    public override bool TryWriteRequestTrailers(ref HeaderBlockWriter writer)
    {
        if (_body.Trailers is { } bytes && HeaderBlock.TryRead(bytes, out var trailers) == ProtocolError.None)
        {
            foreach (var field in trailers.Fields)
            {
                if (FieldRules.OfTrailer(KnownFields.Classify(field.Name), field.Name) == FieldRule.Pass
                    && Extras?.RequestEdits?.Drops(field.Name) != true)
                {
                    writer.AddField(field.Name, field.Value);
                }
            }
        }

        return true;
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    private async ValueTask RunAsync(IForwarder forwarder)
    {
        try
        {
            await forwarder.ForwardAsync(this, _state).ConfigureAwait(false);
            await EndAsync().ConfigureAwait(false);
        }
        catch (Exception)
        {
            // A fault of ours ends this exchange and nothing else.
            _stream.Reset(StreamResetReason.Internal);
        }

        await _body.WaitUntilIdleAsync().ConfigureAwait(false);
    }

    /// <summary>A domain has a dot, which no name below the cluster's own domain has.</summary>
    private static bool IsName(ReadOnlySpan<byte> name) =>
        name.Length <= PublicName.MaxLength || (name.Length <= DomainName.MaxLength && name.Contains((byte)'.'));

    private void Finish()
    {
        _running.GetResult();
        Release();
        _done(this);
    }

    private void Release()
    {
        using (_gate.EnterScope())
        {
            _id = default;
        }

        ReturnBody();
        ReturnHead();

        // Step 10: the stream is released exactly once, last.
        _stream.Release();
    }

    private void ReturnHead()
    {
        _buffers.Return(_head);
        (_head, _headLength) = ([], 0);
    }

    private void OnReset(StreamId id)
    {
        CancellationTokenSource left;
        using (_gate.EnterScope())
        {
            if (id != _id)
            {
                return;
            }

            _hasLeft = true;
            left = _left;
        }

        // Later than that it may be of no use any more, but it is no other request's.
        left.Cancel();
    }

    private HeaderBlock Read()
    {
        HeaderBlock.TryRead(Bytes(_block), out var block);
        return block;
    }

    private ReadOnlySpan<byte> Bytes(ByteRange range) =>
        range.Offset + range.Length <= _headLength ? _head.AsSpan(range.Offset, range.Length) : default;

    private string Text(ByteRange range) => Encoding.Latin1.GetString(Bytes(range));

    private int Copy(ByteRange range, Span<byte> destination)
    {
        var bytes = Bytes(range);
        bytes = bytes[..Math.Min(bytes.Length, destination.Length)];
        bytes.CopyTo(destination);
        return bytes.Length;
    }

    private ByteRange RangeOf(ReadOnlySpan<byte> part) =>
        !part.IsEmpty && ((ReadOnlySpan<byte>)_head).Overlaps(part, out var offset) ? new ByteRange(offset, part.Length) : default;

    /// <summary>Visitors come again, so an object is made only when the address differs from the last one.</summary>
    private void SetAddress(ReadOnlySpan<byte> bytes)
    {
        if (bytes.IsEmpty)
        {
            _address = null;
            return;
        }

        Span<byte> last = stackalloc byte[16];
        if (_address is null || !_address.TryWriteBytes(last, out var length) || !bytes.SequenceEqual(last[..length]))
        {
            _address = new IPAddress(bytes);
        }
    }
}
