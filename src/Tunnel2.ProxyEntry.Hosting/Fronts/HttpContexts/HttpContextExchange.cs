using System.Globalization;
using System.IO.Pipelines;
using System.Net;
using System.Runtime.CompilerServices;
using System.Text;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Tunnel2.Http1;
using Tunnel2.Http2.Frames;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Fronts.Http2;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Routing;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>A visitor's exchange through Kestrel's HttpContext.</summary>
internal sealed class HttpContextExchange : VisitorExchange
{
    /// <summary>Kestrel's default for <c>MaxRequestBufferSize</c>.</summary>
    private const long RequestBuffer = 1024 * 1024;

    /// <summary>The memory of a connection and a request's head, roughly, in bytes.</summary>
    private const long HeadAndConnection = 16 * 1024;

    private static readonly TimeSpan _beforeReset = TimeSpan.FromMilliseconds(250);

    private readonly DefaultHttpContext _http;
    private readonly ProxyEntrySettings _settings;
    private readonly VisitorHeaders _headers = new();
    private ForwardingFields? _forwarding;
    private ILoopFeature? _loop;
    private Http2Link? _link;
    private ExtendedConnect? _connect;
    private string _target = "";
    private string _forwardedTarget = "";
    private string _authority = "";
    private ProxyError? _fault;
    private bool _hasBody;
    private volatile bool _isAborted;
    private int _requests;

    /// <param name="http">Kestrel's context.</param>
    /// <param name="settings">The settings.</param>
    /// <param name="place">See <see cref="Place"/>; null: each exchange has its own.</param>
    public HttpContextExchange(DefaultHttpContext http, ProxyEntrySettings settings, object? place = null)
    {
        _http = http;
        _settings = settings;
        Place = place ?? this;
    }

    /// <summary>
    /// Whether the exchange was aborted, so nothing of it may be completed. Kestrel's own token reports it a moment later.
    /// </summary>
    public bool IsAborted => _isAborted;

    /// <inheritdoc/>
    public override string Method => _http.Request.Method;

    /// <inheritdoc/>
    public override string Authority => _authority;

    /// <inheritdoc/>
    public override string Target => _target;

    /// <inheritdoc/>
    /// <remarks>The visitor's connection never moves, because its other streams may use other uplinks.</remarks>
    public override PipeScheduler? Home => _loop?.Loop;

    /// <inheritdoc/>
    public override IPAddress? RemoteAddress => _forwarding?.Address;

    /// <inheritdoc/>
    public override bool HasBody => _hasBody;

    /// <inheritdoc/>
    public override bool ExpectsContinue => _hasBody && _headers.ExpectsContinue;

    /// <inheritdoc/>
    public override bool IsUpgrade => _connect is not null;

    /// <inheritdoc/>
    public override object Place { get; }

    /// <inheritdoc/>
    public override void GiveUpPlace() => (Place as ConnectionActivity)?.GiveUpPlace();

    /// <inheritdoc/>
    public override bool IsSecure => _forwarding!.IsTls || (_forwarding.IsTrusted && ProxiedVisitor.SaysHttps(this));

    /// <inheritdoc/>
    public override bool IsTls => _forwarding!.IsTls;

    /// <inheritdoc/>
    public override VisitorCertificate? Certificate => _http.Features.Get<VisitorCertificate>();

    /// <inheritdoc/>
    public override bool IsFromTrustedProxy => _forwarding!.IsTrusted;

    /// <inheritdoc/>
    public override long? DeclaredLength => _http.Request.ContentLength;

    /// <inheritdoc/>
    public override string ForwardedTarget => _forwardedTarget;

    /// <inheritdoc/>
    public override ProxyError? Fault => _fault;

    /// <inheritdoc/>
    public override string RequestId => _http.TraceIdentifier;

    /// <summary>The same as <see cref="RequestId"/>, without making the string.</summary>
    public override int WriteRequestId(Span<char> destination)
    {
        var number = StreamId is 0 ? _requests : StreamId;
        return destination.TryWrite(CultureInfo.InvariantCulture, $"{_http.Connection.Id}:{number:X8}", out var length) ? length : 0;
    }

    /// <summary>A body of known length has no framing that can be broken. If it is not complete, the visitor has left.</summary>
    public override bool CanAnswerBrokenBody => _http.Request.ContentLength is null;

    /// <summary>Kestrel reads ahead up to its request buffer of 1 MiB, and no further than the body goes.</summary>
    public override long BytesHeldUnread =>
        (_hasBody ? Math.Min(_http.Request.ContentLength ?? RequestBuffer, RequestBuffer) : 0) + HeadAndConnection;

    /// <inheritdoc/>
    public override PipeReader RequestBody => _http.Request.BodyReader;

    /// <inheritdoc/>
    /// <remarks>When the visitor's connection has failed, Kestrel throws that exception also from the cancellation of a read.</remarks>
    public override void StopReadingBody()
    {
        try
        {
            base.StopReadingBody();
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException or InvalidOperationException)
        {
            // A running read has ended with the same exception.
        }
    }

    /// <inheritdoc/>
    public override bool HasRequestTrailers =>
        _http.Request.SupportsTrailers() && _http.Request.CheckTrailersAvailable() && Trailers.Count > 0;

    /// <inheritdoc/>
    public override bool HasResponseStarted => _http.Response.HasStarted;

    /// <inheritdoc/>
    public override bool ResponseMayHaveBody =>
        !HttpMethods.IsHead(_http.Request.Method)
        && _http.Response.StatusCode is not StatusCodes.Status204NoContent and not StatusCodes.Status205ResetContent
            and not StatusCodes.Status304NotModified;

    /// <inheritdoc/>
    public override CancellationToken VisitorLeft => _http.RequestAborted;

    /// <inheritdoc/>
    public override int? VisitorResetCode => _link?.CodeOf(StreamId);

    /// <inheritdoc/>
    public override long? BodySent => _link?.BodySentOf(StreamId);

    /// <inheritdoc/>
    public override int CopyForwardedFor(Span<byte> destination)
    {
        var written = 0;
        if (_forwarding!.IsTrusted)
        {
            foreach (var value in _http.Request.Headers["X-Forwarded-For"])
            {
                written += ProxiedVisitor.AddElement(value, destination, written);
            }
        }

        return written;
    }

    /// <inheritdoc/>
    public override int CopyField(ReadOnlySpan<byte> name, Span<byte> destination)
    {
        var values = _http.Request.Headers[Encoding.ASCII.GetString(name)];
        return values.Count == 1 && values[0] is { } value && value.Length <= destination.Length
            ? Encoding.Latin1.GetBytes(value, destination)
            : -1;
    }

    /// <inheritdoc/>
    public override string[] FieldValues(string name, bool withLookalikes)
    {
        if (_connect?.FieldValue(name) is { } value)
        {
            return [value];
        }

        var headers = _http.Request.Headers;
        return
        [
            .. (withLookalikes
                ? headers.Where(header => FieldLookalikes.Are(name, header.Key)).SelectMany(static header => header.Value)
                : headers[name]).Select(static value => value ?? ""),
        ];
    }

    /// <summary>Begins with the request that the context has now.</summary>
    public void Begin()
    {
        _requests++;
        var features = _http.Features;
        var request = features.GetRequiredFeature<IHttpRequestFeature>();
        _forwarding ??= new ForwardingFields(
            _http.Connection.RemoteIpAddress, _http.Connection.LocalPort, RequestScheme.IsTls(features), _settings.TrustedProxies);
        _loop ??= features.Get<ILoopFeature>();
        _link ??= features.Get<Http2Link>();
        _fault = null;
        _isAborted = false;
        _connect = HttpMethods.IsConnect(request.Method) ? ExtendedConnect.TryTake(features, request.Headers) : null;
        _authority = request.Headers.Host.ToString();
        _target = ReadTarget(request.RawTarget);
        _hasBody = _connect is null
            && (features.Get<IHttpRequestBodyDetectionFeature>() is { CanHaveBody: true }
                || features.Get<IHttpRequestTrailersFeature>() is { Available: true, Trailers.Count: > 0 });
        var broken = _headers.Read(request.Headers, request.Method, request.RawTarget, _settings)
            ?? (request.Headers.ContentLength == ContentLengthText.Broken || !RequestScheme.IsOfHttp(request.Scheme)
                ? ProxyError.BadRequest : null);
        if (broken is not null)
        {
            _fault = broken;
            if (broken != ProxyError.BadRequest)
            {
                LetGo(request.Headers);
            }
        }
        else if (!FieldText.IsHost(_authority))
        {
            _fault = ProxyError.InvalidHost;
        }
        else if (HttpMethods.IsConnect(request.Method))
        {
            // CONNECT may only open a WebSocket. It has no content (RFC 9110 section 9.3.6), so a length would announce a body to the
            // backend that does not exist.
            _fault = _connect is null
                ? ProxyError.MethodNotSupported
                : request.Headers.ContentLength is null
                ? _fault
                : ProxyError.BadRequest;
        }
        else if (request.Headers.ContentLength > _settings.MaxRequestBodyBytes)
        {
            // Kestrel would say so only when the body is read, and then nothing could be answered.
            _fault = ProxyError.RequestBodyTooLarge;
        }
        else if (_hasBody && HttpMethods.IsTrace(request.Method) && request.Headers.ContentLength != 0)
        {
            // RFC 9110 section 9.3.8, as in the parser of HTTP/1.1.
            _fault = ProxyError.BadRequest;
        }
    }

    /// <inheritdoc/>
    public override RequestAddress Address => new(_authority, _target);

    /// <inheritdoc/>
    public override void Forward(in PathAddress path) => _forwardedTarget = path.GetRest(_target);

    /// <inheritdoc/>
    public override void WriteRequestBlock(ref HeaderBlockWriter writer)
    {
        var method = _connect is null ? _http.Request.Method : ExtendedConnect.BackendMethod;
        var flags = (IsUpgrade ? HeaderBlockFlags.Upgrade : HeaderBlockFlags.None)
            | (HttpProtocol.IsHttp2(_http.Request.Protocol) ? HeaderBlockFlags.Http2 : HeaderBlockFlags.None);
        writer.BeginRequest(flags, method, RequestScheme.Of(IsTls), _authority, _forwardedTarget);
        _headers.Write(ref writer, _forwarding!, Extras, GoesToNode);
        _connect?.WriteRequestFields(ref writer);
        Extras?.WriteRequestFields(ref writer);
        IsInLoop = _forwarding!.Write(ref writer, _authority);
    }

    /// <inheritdoc/>
    public override bool TryWriteRequestTrailers(ref HeaderBlockWriter writer) =>
        VisitorHeaders.TryWriteTrailers(ref writer, Trailers, Extras?.RequestEdits);

    /// <inheritdoc/>
    /// <remarks>
    /// HttpContext cannot send one, so the link does, at once. A visitor that expects a 100 gets it from Kestrel when its body is read.
    /// </remarks>
    public override bool WriteInterim(scoped in HeaderBlock head)
    {
        if (!(ExpectsContinue && head.Status == StatusCodes.Status100Continue))
        {
            _link?.TrySendInterim(StreamId, head, Extras?.ResponseEdits);
        }

        return false;
    }

    /// <inheritdoc/>
    public override bool TryStartResponse(scoped in HeaderBlock head, bool declaresLength) =>
        ResponseHead.TryWrite(_http, head, _connect, Extras);

    /// <inheritdoc/>
    public override void SendTrailers(scoped in HeaderBlock trailers) =>
        ResponseHead.WriteTrailers(_http.Response, trailers, Extras?.ResponseEdits);

    /// <inheritdoc/>
    /// <remarks>Before the response has started, Kestrel may return an empty span if no size is given.</remarks>
    public override void WriteBody(ReadOnlySpan<byte> data)
    {
        var writer = _http.Response.BodyWriter;
        while (!data.IsEmpty)
        {
            var room = writer.GetSpan(1);
            var count = Math.Min(room.Length, data.Length);
            data[..count].CopyTo(room);
            writer.Advance(count);
            data = data[count..];
        }
    }

    /// <inheritdoc/>
    public override ValueTask<bool> FlushAsync()
    {
        var flushing = _http.Response.BodyWriter.FlushAsync();
        if (!flushing.IsCompletedSuccessfully)
        {
            return AwaitAsync(flushing);
        }

        var flushed = flushing.Result;
        return new ValueTask<bool>(!flushed.IsCompleted && !flushed.IsCanceled);

        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
        static async ValueTask<bool> AwaitAsync(ValueTask<FlushResult> flushing)
        {
            var flushed = await flushing.ConfigureAwait(false);
            return !flushed.IsCompleted && !flushed.IsCanceled;
        }
    }

    /// <inheritdoc/>
    public override ValueTask<UpgradedConnection> UpgradeAsync() => _connect!.AcceptAsync(_http);

    /// <inheritdoc/>
    /// <remarks>A gRPC client knows what the service's own reset means; in place of it an error of ours would say less.</remarks>
    public override Task WriteErrorAsync(ProxyError error, ErrorDetails details)
    {
        if (ResetCode is not null && !_http.Response.HasStarted && _http.Request.ErrorFormat() == ErrorBodyFormat.Grpc && TryReset())
        {
            return Task.CompletedTask;
        }

        return _http.WriteProxyErrorAsync(error, details, Extras);
    }

    /// <inheritdoc/>
    public override Task WriteAnswerAsync(ErrorResponse answer) => _http.WriteAnswerAsync(answer, Extras);

    /// <inheritdoc/>
    /// <remarks>
    /// Kestrel drops the bytes that its HTTP/2 stream still holds when it resets the stream, and a flush may end while it holds a few. They
    /// get a moment to leave.
    /// </remarks>
    public override async ValueTask CutAsync(bool isShort)
    {
        if (_connect is null && CutReason is { } reason && ResetCode is null && _http.TryEndGrpc(reason))
        {
            return;
        }

        try
        {
            // What a WebSocket brought was flushed as it came.
            if ((_connect is { IsAccepted: true } || await FlushAsync().ConfigureAwait(false))
                && HttpProtocol.IsHttp2(_http.Request.Protocol))
            {
                await Task.Delay(_beforeReset, VisitorLeft).ConfigureAwait(false);
            }
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException or InvalidOperationException)
        {
            // The visitor is gone.
        }

        Abort();
    }

    /// <inheritdoc/>
    public override void Abort()
    {
        if (TryReset())
        {
            return;
        }

        _isAborted = true;
        ExpectReset();
        if (_connect is { IsAccepted: true })
        {
            ExtendedConnect.Reset(_http);
        }
        else
        {
            _http.Abort();
        }
    }

    /// <summary>Its length as a head of HTTP/1.1, in bytes, as long as its fields are held.</summary>
    public long HeadLength => _headers.Size;

    /// <summary>Refuses the request: nothing was done with it, and the visitor may send it again.</summary>
    public void Refuse()
    {
        _isAborted = true;
        if (_http.Features.Get<IHttpResetFeature>() is { } feature)
        {
            feature.Reset((int)Http2ErrorCode.RefusedStream);
        }
        else
        {
            _http.Abort();
        }
    }

    /// <summary>The request has ended: releases its fields.</summary>
    public void LetGo() => _headers.Release(_http.Request.Headers);

    /// <summary>
    /// Releases the fields of a request that was refused for its size, so that they are not held while the visitor reads the answer.
    /// </summary>
    private void LetGo(IHeaderDictionary headers)
    {
        var (accept, type) = (headers.Accept, headers.ContentType);
        var host = headers.Host;
        _headers.Release(headers);

        // The two decide the form of the answer; so does the type for gRPC.
        headers.Accept = accept.Count == 1 && accept[0]!.Length <= 1024 ? accept : default;
        headers.ContentType = type.Count == 1 && type[0]!.Length <= 1024 ? type : default;
        headers.Host = host;
        if (_fault == ProxyError.RequestTargetTooLong)
        {
            _target = _target[..Math.Min(_target.Length, 1024)];
        }
    }

    /// <summary>Resets the visitor's stream with the service's code, if there is one.</summary>
    private bool TryReset()
    {
        if (ResetCode is not { } code || _http.Features.Get<IHttpResetFeature>() is not { } feature)
        {
            return false;
        }

        _isAborted = true;
        ExpectReset();
        feature.Reset(code);
        return true;
    }

    /// <summary>The reset that follows is not the visitor's doing; a visitor that has left gets none.</summary>
    private void ExpectReset()
    {
        if (!VisitorLeft.IsCancellationRequested)
        {
            _link?.ExpectReset();
        }
    }

    /// <summary>The stream of HTTP/2; 0 without one, in a test.</summary>
    private int StreamId => _http.Features.Get<IHttp2StreamIdFeature>()?.StreamId ?? 0;

    private IHeaderDictionary Trailers => _http.Features.GetRequiredFeature<IHttpRequestTrailersFeature>().Trailers;

    /// <summary>Path and query as they were sent; of an absolute target the part after its authority (RFC 9112 section 3.2.2).</summary>
    private string ReadTarget(string raw)
    {
        if (raw.StartsWith('/') || raw == "*")
        {
            return raw;
        }

        var scheme = raw.IndexOf("://", StringComparison.Ordinal);
        if (scheme < 0)
        {
            _fault = ProxyError.BadRequest;
            return "/";
        }

        var rest = raw.AsSpan(scheme + 3);
        var path = rest.IndexOfAny('/', '?');
        _authority = (path < 0 ? rest : rest[..path]).ToString();
        return path < 0 ? "/" : rest[path] == '/' ? rest[path..].ToString() : "/" + rest[path..].ToString();
    }
}
