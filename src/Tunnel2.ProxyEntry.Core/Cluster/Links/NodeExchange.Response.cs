using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Tunnel2.Http1;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <content>
/// The response: blocks and data on the stream. Its head leaves with the first body bytes, and until then an error can replace it.
/// </content>
internal sealed partial class NodeExchange
{
    private const int HeadGuess = 2 * 1024;
    private const int NoHead = -1;

    private byte[]? _output;
    private int _outputLength;
    private byte[]? _trailers;
    private int _status;
    private int _pendingHead = NoHead;
    private bool _isHeadQueued;
    private bool _isComplete;
    private bool _isEnded;

    /// <inheritdoc/>
    public override bool HasResponseStarted => _isHeadQueued;

    /// <inheritdoc/>
    public override bool ResponseMayHaveBody => _raw is null && !Bytes(_method).SequenceEqual("HEAD"u8)
        && _status is not StatusCodes.Status204NoContent and not StatusCodes.Status205ResetContent and not StatusCodes.Status304NotModified;

    /// <inheritdoc/>
    public override ValueTask SendContinueAsync()
    {
        var writer = new HeaderBlockWriter(_stream.BeginHead(HeadGuess));
        writer.BeginResponse(HeaderBlockFlags.None, StatusCodes.Status100Continue, "Continue"u8);
        _stream.EndHead(writer.Complete(), default, end: false, out _);
        return default;
    }

    /// <inheritdoc/>
    /// <remarks>It is sent at once: the entering node decides whether its visitor can get it.</remarks>
    public override bool WriteInterim(scoped in HeaderBlock head)
    {
        if (TryWriteHead(head, isFinal: false, out var length))
        {
            _stream.EndHead(length, default, end: false, out _);
        }

        return false;
    }

    /// <inheritdoc/>
    public override bool TryStartResponse(scoped in HeaderBlock head, bool declaresLength)
    {
        if (!TryWriteHead(head, isFinal: true, out var length))
        {
            return false;
        }

        _status = head.Status;
        _pendingHead = length;
        return true;
    }

    /// <inheritdoc/>
    public override void WriteBody(ReadOnlySpan<byte> data)
    {
        var needed = _outputLength + data.Length;
        if (_output is null || _output.Length < needed)
        {
            var larger = _buffers.Rent(Math.Max(needed, Math.Min(2 * (_output?.Length ?? 0), 128 * 1024)));
            if (_output is { } present)
            {
                present.AsSpan(0, _outputLength).CopyTo(larger);
                _buffers.Return(present);
            }

            _output = larger;
        }

        data.CopyTo(_output.AsSpan(_outputLength));
        _outputLength = needed;
    }

    /// <inheritdoc/>
    public override ValueTask<bool> SendBodyAsync(ReadOnlyMemory<byte> data) =>
        _outputLength > 0 ? base.SendBodyAsync(data) : SendAsync(data);

    /// <inheritdoc/>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public override async ValueTask<bool> FlushAsync()
    {
        var isSent = await SendAsync(_output.AsMemory(0, _outputLength)).ConfigureAwait(false);
        ReturnBody();
        return isSent;
    }

    /// <inheritdoc/>
    public override void SendTrailers(scoped in HeaderBlock trailers)
    {
        // A section that is too large is left out; the body stays complete.
        var buffer = _buffers.Rent(ProtocolLimits.MaxHeaderBlockLength);
        var writer = new HeaderBlockWriter(buffer);
        writer.BeginTrailers();
        foreach (var field in trailers.Fields)
        {
            if (FieldRules.PassesInTrailers(field.Name, field.Value) && Extras?.ResponseEdits?.Drops(field.Name) != true)
            {
                writer.AddField(field.Name, field.Value);
            }
        }

        var length = writer.Complete();
        _trailers = writer.Overflowed || writer.HasTooManyFields ? null : buffer[..length];
        _buffers.Return(buffer);
    }

    /// <inheritdoc/>
    public override void CompleteResponse() => _isComplete = true;

    /// <inheritdoc/>
    public override async ValueTask<UpgradedConnection> UpgradeAsync()
    {
        await FlushAsync().ConfigureAwait(false);
        return new RawBytes(this);
    }

    /// <inheritdoc/>
    public override Task WriteErrorAsync(ProxyError error, ErrorDetails details)
    {
        if (error is ProxyError.AgentOffline or ProxyError.UnknownName
            || ((_facts & NodeRequestFacts.HasOther) != 0 && !_hasBody && IsUntouched(error)))
        {
            // The session left in the last moment, or its service takes nothing. The entering node knows where else to look, or who may
            // wait. It has not kept a body that came this far.
            _stream.Reset(StreamResetReason.Refused, StreamResetDetail.SessionLeft);
            return Task.CompletedTask;
        }

        var format = Format();
        if (ResetCode is { } code && format == ErrorBodyFormat.Grpc)
        {
            // A gRPC client knows what the service's own reset means; in place of it an error of ours would say less.
            _stream.Reset(StreamResetReason.BackendProtocol, StreamResetDetails.OfHttp2((uint)code));
            return Task.CompletedTask;
        }

        return WriteAnswerAsync(
            ErrorResponses.Get(error, format, details with { Node = _node() }),
            ProxyErrorCatalog.Get(error).Status);
    }

    /// <summary>Whether an error says that nothing was done with the request.</summary>
    private static bool IsUntouched(ProxyError error) => error is ProxyError.AgentRefused or ProxyError.StreamLimit
        or ProxyError.BackendRefused or ProxyError.BackendNameNotResolved or ProxyError.BackendConnectTimeout
        or ProxyError.BackendTlsFailed or ProxyError.BackendNotTls or ProxyError.BackendConnectionLimit or ProxyError.BackendUnreachable;

    /// <inheritdoc/>
    public override Task WriteAnswerAsync(ErrorResponse answer) => WriteAnswerAsync(answer, answer.Status);

    /// <inheritdoc/>
    /// <remarks>The reset follows what was written, and says the entering node why.</remarks>
    public override async ValueTask CutAsync(bool isShort)
    {
        _isComplete = false;
        if (await FlushAsync().ConfigureAwait(false))
        {
            var (reason, detail) = ResetOfCut();
            _stream.ResetAfterHead(reason, detail);
        }
        else
        {
            Abort();
        }
    }

    /// <inheritdoc/>
    public override void Abort()
    {
        var (reason, detail) = ResetOfCut();
        _stream.ResetIf(_id, reason, detail);
    }

    private void BeginResponse()
    {
        _trailers = null;
        _status = 0;
        _pendingHead = NoHead;
        _isHeadQueued = false;
        _isComplete = false;
        _isEnded = false;
    }

    /// <summary>The rest of a complete response.</summary>
    private async ValueTask EndAsync()
    {
        if (_isComplete && !_isEnded)
        {
            await FlushAsync().ConfigureAwait(false);
        }
    }

    /// <summary>The reason for which the visitor's answer is cut, as an agent would have said it.</summary>
    private (StreamResetReason Reason, StreamResetDetail Detail) ResetOfCut() => ResetCode is { } code
        ? (StreamResetReason.BackendProtocol, StreamResetDetails.OfHttp2((uint)code))
        : _state.Error switch
        {
            ProxyError.BackendTimeout or ProxyError.BodyIdleTimeout => (StreamResetReason.BackendTimeout, StreamResetDetail.BodyIdle),
            ProxyError.BackendStalled => (StreamResetReason.BackendTimeout, StreamResetDetail.Stalled),
            ProxyError.UplinkLost or ProxyError.AgentFailed or ProxyError.Internal => (StreamResetReason.Internal, StreamResetDetail.None),
            null => (StreamResetReason.Cancel, StreamResetDetail.None),
            _ => (StreamResetReason.BackendProtocol, StreamResetDetail.ClosedInBody),
        };

    private void ReturnBody()
    {
        if (_output is { } output)
        {
            _buffers.Return(output);
            (_output, _outputLength) = (null, 0);
        }
    }

    private ErrorBodyFormat Format()
    {
        ReadOnlySpan<byte> contentType = default;
        ReadOnlySpan<byte> accept = default;
        foreach (var field in Read().Fields)
        {
            switch (KnownFields.Classify(field.Name))
            {
                case KnownField.ContentType when contentType.IsEmpty:
                    contentType = field.Value;
                    break;
                case KnownField.Accept when accept.IsEmpty:
                    accept = field.Value;
                    break;
                default:
                    break;
            }
        }

        return ErrorBodyNegotiation.Choose(contentType, accept);
    }

    /// <param name="answer">The answer.</param>
    /// <param name="status">What it means: an error for gRPC has the status 200.</param>
    private async Task WriteAnswerAsync(ErrorResponse answer, int status)
    {
        ReturnBody();
        _status = status;
        _pendingHead = WriteAnswerHead(answer);
        _isComplete = true;
        await SendAsync(ResponseMayHaveBody ? answer.Body : default).ConfigureAwait(false);
    }

    private int WriteAnswerHead(ErrorResponse answer)
    {
        for (var size = 2 * HeadGuess; ; size *= 4)
        {
            var writer = new HeaderBlockWriter(_stream.BeginHead(size));
            writer.BeginResponse(HeaderBlockFlags.None, answer.Status, ReasonPhrases.Of(answer.Status));
            foreach (var (name, value) in answer.Headers)
            {
                writer.AddField(name, value);
            }

            if (answer.Status != StatusCodes.Status204NoContent && _raw is null)
            {
                writer.AddField("Content-Length", answer.Body.Length.ToString(System.Globalization.CultureInfo.InvariantCulture));
            }

            AddOwnFields(ref writer);
            var length = writer.Complete();
            if (!writer.Overflowed || size > ProtocolLimits.MaxHeaderBlockLength)
            {
                return length;
            }
        }
    }

    private void AddOwnFields(ref HeaderBlockWriter writer)
    {
        var lines = Extras is { } extras ? extras.ResponseLines : default;
        while (!lines.IsEmpty)
        {
            var end = lines.IndexOf((byte)'\n');
            var colon = lines.IndexOf((byte)':');
            writer.AddField(lines[..colon], lines[(colon + 2)..(end - 1)]);
            lines = lines[(end + 1)..];
        }
    }

    /// <summary>Writes a head into the stream's memory, without sending it.</summary>
    private bool TryWriteHead(scoped in HeaderBlock head, bool isFinal, out int length)
    {
        length = 0;
        var switches = head.Status == StatusCodes.Status101SwitchingProtocols;
        var edits = Extras?.ResponseEdits;
        for (var size = HeadGuess; ; size = Math.Min(size * 8, ProtocolLimits.MaxHeaderBlockLength))
        {
            var writer = new HeaderBlockWriter(_stream.BeginHead(size));
            writer.BeginResponse(
                (switches ? HeaderBlockFlags.Upgrade : HeaderBlockFlags.None)
                    | (_state.LoopPath == LoopPath.Crossed ? HeaderBlockFlags.Crossed : HeaderBlockFlags.None),
                head.Status,
                FieldSyntax.IsFieldValue(head.ReasonPhrase) ? head.ReasonPhrase : default);
            var hasLength = false;
            foreach (var field in head.Fields)
            {
                if (!FieldSyntax.IsToken(field.Name) || !FieldSyntax.IsFieldValue(field.Value))
                {
                    return false;
                }

                var known = KnownFields.Classify(field.Name);
                var value = field.Value;
                if (!FieldRules.PassesInResponse(known, head.Status, switches)
                    || (known == KnownField.ContentLength && hasLength)
                    || (edits is not null && edits.Drops(known, field.Name, ref value)))
                {
                    continue;
                }

                hasLength |= known == KnownField.ContentLength;
                writer.AddField(field.Name, value);
            }

            // What a policy takes away is in no head of the answer; what it adds is in the last one.
            for (var i = 0; i < (isFinal ? edits?.Count ?? 0 : 0); i++)
            {
                if (edits!.LineAt(i) is { } line)
                {
                    writer.AddField(line.NameBytes, line.ValueBytes);
                }
            }

            if (isFinal)
            {
                AddOwnFields(ref writer);
            }

            length = writer.Complete();
            if (!writer.Overflowed)
            {
                return !writer.HasTooManyFields;
            }

            if (size == ProtocolLimits.MaxHeaderBlockLength)
            {
                return false;
            }
        }
    }

    /// <summary>Sends what is pending of the head, and bytes after it. The end follows when the response is complete.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data)
    {
        var end = _isComplete && _trailers is null;
        if (_pendingHead != NoHead)
        {
            var length = _pendingHead;
            _pendingHead = NoHead;
            if (_stream.EndHead(length, data.Span, end, out var taken) != StreamSendStatus.Sent)
            {
                return false;
            }

            _isHeadQueued = true;
            data = data[taken..];
            _isEnded = end && data.IsEmpty;
        }

        if (!data.IsEmpty || (end && !_isEnded))
        {
            if (await _stream.WriteAsync(data, end).ConfigureAwait(false) != StreamSendStatus.Sent)
            {
                return false;
            }

            _isEnded |= end;
        }

        return !_isComplete || _isEnded || SendLast(_trailers!);
    }

    private bool SendLast(byte[] trailers)
    {
        trailers.CopyTo(_stream.BeginHead(trailers.Length));
        _isEnded = _stream.EndHead(trailers.Length, default, end: true, out _) == StreamSendStatus.Sent;
        return _isEnded;
    }

    /// <summary>The stream's bytes after a 101.</summary>
    private sealed class RawBytes(NodeExchange exchange) : UpgradedConnection
    {
        public override PipeReader Input => exchange._body;

        public override async ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data) =>
            await exchange._stream.WriteAsync(data, end: false).ConfigureAwait(false) == StreamSendStatus.Sent;

        public override async ValueTask<bool> EndSendAsync()
        {
            exchange._isEnded = await exchange._stream.WriteAsync(default, end: true).ConfigureAwait(false) == StreamSendStatus.Sent;
            return exchange._isEnded;
        }
    }
}
