using System.IO.Pipelines;
using System.Net;
using System.Text;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Routing;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// A visitor's request and its response, as a front gives them to the forwarder: the one seam between HTTP and the tunnel. A front knows
/// its version of HTTP; limits, logs, metrics and errors belong to the forwarder. It serves one request at a time, and is reused.
/// </summary>
internal abstract class VisitorExchange
{
    /// <summary>The request's method. A front may have to make the text, so it is not for every request.</summary>
    public abstract string Method { get; }

    /// <summary>Host or <c>:authority</c> as the visitor wrote it; empty when there was none. A front may have to make the text.</summary>
    public abstract string Authority { get; }

    /// <summary>
    /// Path and query as the visitor wrote them, byte for byte (characters are bytes). A front may have to make the text.
    /// </summary>
    public abstract string Target { get; }

    /// <summary>The peer's address: the visitor's, or that of a proxy in front.</summary>
    public abstract IPAddress? RemoteAddress { get; }

    /// <summary>Whether a body may follow the head.</summary>
    public abstract bool HasBody { get; }

    /// <summary>Whether the visitor waits for <c>100 Continue</c> before it sends the body.</summary>
    public abstract bool ExpectsContinue { get; }

    /// <summary>Whether the visitor asks to switch protocols.</summary>
    public abstract bool IsUpgrade { get; }

    /// <summary>Whether it is a connection without HTTP: bytes in both directions, whose breaks cross as breaks.</summary>
    public virtual bool IsRaw => false;

    /// <summary>
    /// The visitor's connection, which has one of the places for such connections: requests with the same share it. Null: it has none.
    /// </summary>
    public virtual object? Place => this;

    /// <summary>
    /// That place is needed: the connection ends after this request's answer, so that no further request keeps it. From any thread.
    /// </summary>
    public virtual void GiveUpPlace()
    {
        // A front whose connections end with their one request has nothing to do.
    }

    /// <summary>Whether the visitor uses HTTPS, with this server or with a trusted proxy in front that says so.</summary>
    public virtual bool IsSecure => false;

    /// <summary>Whether the connection itself has TLS, with this server.</summary>
    public virtual bool IsTls => false;

    /// <summary>What the connection's handshake said about the visitor's certificate; null: it asked for none.</summary>
    public virtual VisitorCertificate? Certificate => null;

    /// <summary>Whether the peer is a trusted proxy, whose fields about the visitor count.</summary>
    public virtual bool IsFromTrustedProxy => false;

    /// <summary>Whether another node of the cluster has passed it on: then it stays here.</summary>
    public virtual bool IsFromNode => false;

    /// <summary>The owner for whose session it has waited at another node; null: it has not.</summary>
    public virtual AgentIdentity? AwaitedOwner => null;

    /// <summary>The length of the body that the request declares; null: none.</summary>
    public virtual long? DeclaredLength => null;

    /// <summary>Path and query as the service gets them, after <see cref="Forward"/>. Makes a text.</summary>
    public virtual string ForwardedTarget => Target;

    /// <summary>Whether a session carries what this is.</summary>
    public virtual bool Suits(EntrySession session) => session.Kind == SessionKind.Http;

    /// <summary>The fault for which the request must not be forwarded, or null.</summary>
    public abstract ProxyError? Fault { get; }

    /// <summary>An id for log lines. It may be costly, so it is for failures only.</summary>
    public abstract string RequestId { get; }

    /// <summary>
    /// Copies what a trusted proxy in front says about the origin of the request (<c>X-Forwarded-For</c>), as much as fits; nothing when
    /// there is none, or when the peer is not trusted. Called for every request when the access log is on, so it allocates nothing.
    /// </summary>
    /// <returns>How many bytes were copied.</returns>
    public abstract int CopyForwardedFor(Span<byte> destination);

    /// <summary>
    /// Writes <see cref="RequestId"/>, as much as fits. Called for every request when the access log is on; a front overrides it if it can
    /// do so without making the string.
    /// </summary>
    /// <returns>How many characters were written.</returns>
    public virtual int WriteRequestId(Span<char> destination)
    {
        var id = RequestId;
        var length = Math.Min(id.Length, destination.Length);
        id.AsSpan(0, length).CopyTo(destination);
        return length;
    }

    /// <summary>
    /// Copies <see cref="Method"/> as bytes, as much as fits. Called for every recorded request; a front overrides it if it can do so
    /// without making the string.
    /// </summary>
    /// <returns>How many bytes were copied.</returns>
    public virtual int CopyMethod(Span<byte> destination) => Copy(Method, destination);

    /// <summary>The same as <see cref="CopyMethod"/>, of <see cref="Target"/>.</summary>
    /// <returns>How many bytes were copied.</returns>
    public virtual int CopyTarget(Span<byte> destination) => Copy(Target, destination);

    /// <summary>The same, of <see cref="ForwardedTarget"/>.</summary>
    /// <returns>How many bytes were copied.</returns>
    public virtual int CopyForwardedTarget(Span<byte> destination) => Copy(ForwardedTarget, destination);

    /// <summary>Whether a visitor whose body is broken can get an answer, because its connection has not ended.</summary>
    public virtual bool CanAnswerBrokenBody => true;

    /// <summary>How many bytes the front holds at most while the request's body is not read: what a waiting request costs.</summary>
    public virtual long BytesHeldUnread => HasBody ? 1024 * 1024 : 16 * 1024;

    /// <summary>The request's body.</summary>
    public abstract PipeReader RequestBody { get; }

    /// <summary>Ends a running read of the request's body: it returns as cancelled. Never throws.</summary>
    public virtual void StopReadingBody() => RequestBody.CancelPendingRead();

    /// <summary>Whether trailers followed the request's body. Valid once the body was read to its end.</summary>
    public virtual bool HasRequestTrailers => false;

    /// <summary>Whether the response's head was sent, so that no other answer can be given.</summary>
    public abstract bool HasResponseStarted { get; }

    /// <summary>Whether the response may have a body at all.</summary>
    public abstract bool ResponseMayHaveBody { get; }

    /// <summary>The visitor's event loop; null where there is none.</summary>
    public virtual PipeScheduler? Home => null;

    /// <summary>Whether the visitor's connection has had a request before, on the loop that it lives on.</summary>
    public virtual bool IsSettled => false;

    /// <summary>
    /// Moves the visitor's connection to the event loop of its request's uplink, so that one thread does all of the request. Allowed only
    /// before anything after the request's head was read.
    /// </summary>
    /// <returns>False when it stays. Otherwise the caller must continue on that loop's thread.</returns>
    public virtual bool TryMoveTo(PipeScheduler home) => false;

    /// <summary>Signalled when the visitor leaves before the end.</summary>
    public abstract CancellationToken VisitorLeft { get; }

    /// <summary>What ProxyEntry itself adds to the request and its response; null for most requests.</summary>
    public ExchangeExtras? Extras { get; set; }

    /// <summary>
    /// Whether the request goes to the node of its session: that one reads the cookies of sign-ins, which no service gets.
    /// </summary>
    public bool GoesToNode { get; set; }

    /// <summary>Whether <see cref="WriteRequestBlock"/> found that the request has come through too many tunnels.</summary>
    public bool IsInLoop { get; protected set; }

    /// <summary>
    /// The code of HTTP/2 with which the service has reset the request; null when it has not. A front of HTTP/2 gives it to the visitor
    /// where no answer of HTTP can.
    /// </summary>
    public int? ResetCode { get; set; }

    /// <summary>Why a response is cut that has begun; null where the reason is not known. See <see cref="CutAsync"/>.</summary>
    public ProxyError? CutReason { get; set; }

    /// <summary>
    /// Forgets what the request before has left: the object serves one after the other, and none may get what another's answer had.
    /// </summary>
    public void ForgetLast()
    {
        Extras = null;
        GoesToNode = false;
        IsInLoop = false;
        ResetCode = null;
        CutReason = null;
    }

    /// <summary>
    /// How many bytes of the response's body have gone to the visitor's connection, where the front may still hold others; null: all that
    /// were written, or it is not known. It is asked for answers that were cut.
    /// </summary>
    public virtual long? BodySent => null;

    /// <summary>
    /// The code of HTTP/2 with which the visitor has reset the request; null when it has not, or left in another way. From any thread.
    /// </summary>
    public virtual int? VisitorResetCode => null;

    /// <summary>What the agent learns of a visitor that left: its code, for a service that speaks HTTP/2 too.</summary>
    public StreamResetDetail LeftDetail =>
        VisitorResetCode is { } code ? StreamResetDetails.OfHttp2((uint)code) : StreamResetDetail.None;

    /// <summary>Copies the value of a field in the request's head.</summary>
    /// <param name="name">The field's name, in any case.</param>
    /// <param name="destination">Where to.</param>
    /// <returns>The value's length; -1 when there is no such field, more than one, or no room for the value.</returns>
    public virtual int CopyField(ReadOnlySpan<byte> name, Span<byte> destination) => -1;

    /// <summary>
    /// The values of a field in the request's head, one for each of its lines, as the service will get them. Makes texts whose characters
    /// are bytes.
    /// </summary>
    /// <param name="name">The field's name, in any case.</param>
    /// <param name="withLookalikes">Whether fields count too that many services take for this one.</param>
    public virtual string[] FieldValues(string name, bool withLookalikes) => [];

    /// <summary>
    /// The request's <see cref="Authority"/> and <see cref="Target"/> without making text. For every request: allocates nothing.
    /// </summary>
    public abstract RequestAddress Address { get; }

    /// <summary>Sets which part of the target is forwarded: all of it, unless the name was found there.</summary>
    public abstract void Forward(in PathAddress path);

    /// <summary>Writes the request block, after <see cref="Forward"/>: the end-to-end fields, and the forwarding fields.</summary>
    /// <param name="writer">The writer. When it overflows, the call is repeated with more room.</param>
    public abstract void WriteRequestBlock(ref HeaderBlockWriter writer);

    /// <summary>
    /// Writes the fields of <see cref="HasRequestTrailers"/> that may be forwarded into a block of trailers that has been begun.
    /// </summary>
    /// <returns>False when one of them breaks a rule: then the request never counts as complete.</returns>
    public virtual bool TryWriteRequestTrailers(ref HeaderBlockWriter writer) => true;

    /// <summary>Sends a 100 to a visitor that expects one. No other write may run at the same time.</summary>
    public virtual ValueTask SendContinueAsync() => default;

    /// <summary>Writes an interim response, if the version of HTTP and the front can. <see cref="FlushAsync"/> sends it.</summary>
    /// <returns>Whether there is something to send.</returns>
    public abstract bool WriteInterim(scoped in HeaderBlock head);

    /// <summary>Sets the response's head from a block. Nothing is sent yet.</summary>
    /// <param name="head">The block.</param>
    /// <param name="declaresLength">Whether a field of it declares the body's length.</param>
    /// <returns>False when the block cannot become a response; then nothing of it was kept.</returns>
    public abstract bool TryStartResponse(scoped in HeaderBlock head, bool declaresLength);

    /// <summary>
    /// Writes body bytes after the head that <see cref="TryStartResponse"/> set. They are copied; <see cref="FlushAsync"/> sends them.
    /// </summary>
    public abstract void WriteBody(ReadOnlySpan<byte> data);

    /// <summary>
    /// Writes body bytes and sends them with all bytes before them; without a copy if the front can. They are borrowed until it completes.
    /// </summary>
    /// <returns>False when the visitor is gone.</returns>
    public virtual ValueTask<bool> SendBodyAsync(ReadOnlyMemory<byte> data)
    {
        WriteBody(data.Span);
        return FlushAsync();
    }

    /// <summary>Sends what was set and written so far, and waits while the visitor does not read it.</summary>
    /// <returns>False when the visitor is gone.</returns>
    public abstract ValueTask<bool> FlushAsync();

    /// <summary>Adds trailers, if the version of HTTP and the front can.</summary>
    public abstract void SendTrailers(scoped in HeaderBlock trailers);

    /// <summary>
    /// The response is complete: the front may end it in order, now or when the forwarder is done. Without this call the front never ends a
    /// response in order.
    /// </summary>
    public virtual void CompleteResponse()
    {
    }

    /// <summary>Switches the connection to raw bytes, after a 101 whose head has been set.</summary>
    public abstract ValueTask<UpgradedConnection> UpgradeAsync();

    /// <summary>Answers with an error of ProxyEntry's own; aborts when a response has begun.</summary>
    public abstract Task WriteErrorAsync(ProxyError error, ErrorDetails details);

    /// <summary>Answers in place of a service, before a response has begun.</summary>
    public abstract Task WriteAnswerAsync(ErrorResponse answer);

    /// <summary>
    /// Ends a response that was cut. A visitor that reads still gets the bytes that were written, and then an end that cannot look like the
    /// end of a complete response.
    /// </summary>
    /// <param name="isShort">Whether bytes of a declared length are missing.</param>
    public abstract ValueTask CutAsync(bool isShort);

    /// <summary>Aborts the exchange at once, so that the visitor cannot take the bytes so far for a complete response.</summary>
    public abstract void Abort();

    private static int Copy(string text, Span<byte> destination) =>
        Encoding.Latin1.GetBytes(text.AsSpan(0, Math.Min(text.Length, destination.Length)), destination);
}
