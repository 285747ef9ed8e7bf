using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Fronts.Http1.Output;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <content>
/// The response. Its head is written where the next bytes will be, but counts only when more follows or it is sent. Until then an error can
/// replace it.
/// </content>
internal sealed partial class Http1Exchange
{
    private const int HeadGuess = 2 * 1024;
    private const int MaxHead = 128 * 1024;

    private VisitorOutput _output = null!;
    private ResponseFraming _framing;
    private int _status;
    private int _pendingHead;
    private bool _hasStarted;
    private bool _saidContinue;
    private bool _isTerminated;

    /// <summary>Whether the connection may serve another request after this one. Decided when the response's head is written.</summary>
    public bool KeepAlive { get; private set; }

    /// <summary>Whether the whole response has been written.</summary>
    public bool IsComplete { get; private set; }

    /// <summary>
    /// Whether the response was cut and its framing shows this. Then the connection ends in order after the bytes that were written.
    /// </summary>
    public bool IsCut { get; private set; }

    /// <summary>Whether the connection has been switched to raw bytes.</summary>
    public bool IsUpgraded { get; private set; }

    /// <inheritdoc/>
    public override bool HasResponseStarted => _hasStarted;

    /// <inheritdoc/>
    public override bool ResponseMayHaveBody => Parser.KnownMethod != KnownMethod.Head
        && _status is not StatusCodes.Status204NoContent and not StatusCodes.Status205ResetContent and not StatusCodes.Status304NotModified;

    /// <summary>Sets the output for responses.</summary>
    public void WriteTo(VisitorOutput output) => _output = output;

    /// <inheritdoc/>
    public override async ValueTask SendContinueAsync()
    {
        _output.Write("HTTP/1.1 100 Continue\r\n\r\n"u8);
        _saidContinue = true;
        await _connection.FlushAsync().ConfigureAwait(false);
    }

    /// <inheritdoc/>
    public override bool WriteInterim(scoped in HeaderBlock head)
    {
        // RFC 9110 section 15.2: interim responses are passed on, but HTTP/1.0 has none.
        if (Parser.Version == Http1Version.Http10
            || !TryWriteHead(head, new ResponseHead(ResponseFraming.None, default, default, edits: Extras?.ResponseEdits)))
        {
            return false;
        }

        TakeHead();
        return true;
    }

    /// <inheritdoc/>
    public override bool TryStartResponse(scoped in HeaderBlock head, bool declaresLength)
    {
        _status = head.Status;
        var framing = ChooseFraming(declaresLength);
        KeepAlive = framing is not (ResponseFraming.UntilClose or ResponseFraming.Raw) && MayKeepAlive;
        ReadOnlySpan<byte> connection = framing == ResponseFraming.Raw ? "Connection: Upgrade\r\n"u8 : ConnectionLines;
        if (head.Status == StatusCodes.Status205ResetContent)
        {
            // RFC 9110 section 15.3.6: a 205 has no content, and its length must say so.
            connection = KeepAlive ? "Content-Length: 0\r\n"u8 : "Content-Length: 0\r\nConnection: close\r\n"u8;
        }

        if (!TryWriteHead(head, new ResponseHead(framing, connection, _connection.Date, AddedLines, Extras?.ResponseEdits)))
        {
            _status = 0;
            return false;
        }

        _framing = framing;
        return true;
    }

    /// <inheritdoc/>
    public override void WriteBody(ReadOnlySpan<byte> data)
    {
        TakeHead();
        if (_framing != ResponseFraming.Chunked)
        {
            _output.Write(data);
            return;
        }

        if (data.IsEmpty)
        {
            return;
        }

        var header = _output.GetSpan(ChunkedEncoder.MaxHeaderBytes);
        _output.Advance(ChunkedEncoder.WriteHeader(header, data.Length));
        _output.Write(data);
        _output.Write(ChunkedEncoder.DataEnd);
    }

    /// <inheritdoc/>
    public override ValueTask<bool> SendBodyAsync(ReadOnlyMemory<byte> data)
    {
        if (_framing == ResponseFraming.Chunked)
        {
            return base.SendBodyAsync(data);
        }

        TakeHead();
        _hasStarted = true;
        return _connection.SendAsync(data);
    }

    /// <inheritdoc/>
    public override ValueTask<bool> FlushAsync()
    {
        TakeHead();
        _hasStarted |= _status != 0;
        return _connection.FlushAsync();
    }

    /// <inheritdoc/>
    public override void SendTrailers(scoped in HeaderBlock trailers)
    {
        if (_framing != ResponseFraming.Chunked)
        {
            return;
        }

        // A section that is too large is left out; the body stays complete.
        TakeHead();
        for (var size = HeadGuess; size <= MaxHead; size *= 8)
        {
            var writer = new HeadWriter(_output.GetSpan(size));
            writer.WriteCheckedLines(ChunkedEncoder.LastChunkBeforeTrailers);
            foreach (var field in trailers.Fields)
            {
                if (FieldRules.PassesInTrailers(field.Name, field.Value) && Extras?.ResponseEdits?.Drops(field.Name) != true)
                {
                    writer.WriteField(field.Name, field.Value);
                }
            }

            if (writer.WriteEnd() == HeadWriteStatus.Ok)
            {
                _output.Advance(writer.Written);
                _isTerminated = true;
                return;
            }
        }
    }

    /// <inheritdoc/>
    public override void CompleteResponse()
    {
        TakeHead();
        if (_framing == ResponseFraming.Chunked && !_isTerminated)
        {
            _output.Write(ChunkedEncoder.LastChunk);
        }

        IsComplete = true;
    }

    /// <inheritdoc/>
    public override async ValueTask<UpgradedConnection> UpgradeAsync()
    {
        IsUpgraded = true;
        await FlushAsync().ConfigureAwait(false);
        return _connection.Upgrade();
    }

    /// <summary>Sends an answer of ProxyEntry's own that switches protocols.</summary>
    /// <param name="head">Its head.</param>
    public async ValueTask<UpgradedConnection> SwitchAsync(ReadOnlyMemory<byte> head)
    {
        IsUpgraded = true;
        _output.Write(head.Span);
        await FlushAsync().ConfigureAwait(false);
        return _connection.Upgrade();
    }

    /// <inheritdoc/>
    public override Task WriteErrorAsync(ProxyError error, ErrorDetails details)
    {
        var answer = ErrorResponses.Get(error, ErrorAnswer.Format(Parser, _head.Span), details);
        return WriteAnswerAsync(answer, ProxyErrorCatalog.Get(error).Status);
    }

    /// <inheritdoc/>
    public override Task WriteAnswerAsync(ErrorResponse answer) => WriteAnswerAsync(answer, answer.Status);

    /// <param name="answer">The answer.</param>
    /// <param name="status">What it means: an error for gRPC has the status 200.</param>
    private async Task WriteAnswerAsync(ErrorResponse answer, int status)
    {
        _pendingHead = 0;
        _status = status;

        // After a fault, or after a body that was cut, the next bytes cannot be parsed.
        KeepAlive = _fault is null && Body.IsFinished && MayKeepAlive;
        ErrorAnswer.Write(_output, answer, _connection.Date, ConnectionLines, AddedLines, withBody: Parser.KnownMethod != KnownMethod.Head);
        IsComplete = true;
        await FlushAsync().ConfigureAwait(false);
    }

    /// <inheritdoc/>
    /// <remarks>
    /// RFC 9112 section 8: a declared length that was not reached, or a missing last chunk, shows that the response is incomplete. If the
    /// end of the connection is the end of the body, only a reset shows it. The same holds for HTTP/1.0, whose readers may ignore lengths.
    /// </remarks>
    public override async ValueTask CutAsync(bool isShort)
    {
        if (await FlushAsync().ConfigureAwait(false))
        {
            var shows = _framing switch
            {
                ResponseFraming.Length => isShort,
                ResponseFraming.Chunked => !_isTerminated,
                _ => false,
            };
            if (shows && Parser.Version == Http1Version.Http11)
            {
                IsCut = true;
                return;
            }

            await _connection.DeliverAsync().ConfigureAwait(false);
        }

        _connection.Abort();
    }

    /// <inheritdoc/>
    public override void Abort() => _connection.Abort();

    private void BeginResponse()
    {
        _framing = ResponseFraming.None;
        _status = 0;
        _pendingHead = 0;
        _hasStarted = false;
        _saidContinue = false;
        _isTerminated = false;
        KeepAlive = false;
        IsComplete = false;
        IsCut = false;
        IsUpgraded = false;
    }

    /// <summary>
    /// Whether the request, and how much of it was read, allow another request after it. A visitor that never got its 100 may send the body
    /// or not, and the body could not be distinguished from the next request.
    /// </summary>
    private bool MayKeepAlive => Parser.KeepAlive && !_connection.IsLastCall && (!ExpectsContinue || _saidContinue);

    private ReadOnlySpan<byte> ConnectionLines => !KeepAlive ? "Connection: close\r\n"u8
        : Parser.Version == Http1Version.Http10 ? "Connection: keep-alive\r\n"u8
        : default;

    private ReadOnlySpan<byte> AddedLines => Extras is { } extras ? extras.ResponseLines : default;

    private ResponseFraming ChooseFraming(bool declaresLength) =>
        _status == StatusCodes.Status101SwitchingProtocols ? ResponseFraming.Raw
        : !ResponseMayHaveBody ? ResponseFraming.None
        : declaresLength ? ResponseFraming.Length
        : Parser.Version == Http1Version.Http11 ? ResponseFraming.Chunked
        : ResponseFraming.UntilClose;

    /// <summary>Writes a head after the output's bytes, without committing it.</summary>
    private bool TryWriteHead(scoped in HeaderBlock block, ResponseHead head)
    {
        for (var size = HeadGuess; size <= MaxHead; size *= 8)
        {
            var status = head.Write(block, _output.GetSpan(size), out var written);
            if (status == HeadWriteStatus.Ok)
            {
                _pendingHead = written;
                return true;
            }

            if (status == HeadWriteStatus.InvalidSyntax)
            {
                break;
            }
        }

        _pendingHead = 0;
        return false;
    }

    private void TakeHead()
    {
        if (_pendingHead > 0)
        {
            _output.Advance(_pendingHead);
            _pendingHead = 0;
        }
    }
}
