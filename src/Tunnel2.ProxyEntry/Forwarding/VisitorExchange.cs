using System.IO.Pipelines;
using System.Net;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Errors;

namespace Tunnel2.ProxyEntry.Forwarding;

/// <summary>
/// A visitor's request and the response to it, as a front gives them to the forwarder: the one seam between HTTP and the tunnel. A front
/// knows its version of HTTP; limits, logs, metrics and errors are the forwarder's. Used by one request at a time and again by the next.
/// </summary>
internal abstract class VisitorExchange
{
    /// <summary>The request's method.</summary>
    public abstract string Method { get; }

    /// <summary>Host or <c>:authority</c> as the visitor wrote it; empty when there was none.</summary>
    public abstract string Authority { get; }

    /// <summary>Path and query as the visitor wrote them, byte for byte (characters are bytes).</summary>
    public abstract string Target { get; }

    /// <summary>The peer's address: the visitor's, or that of a proxy in front.</summary>
    public abstract IPAddress? RemoteAddress { get; }

    /// <summary>Whether a body may follow the head.</summary>
    public abstract bool HasBody { get; }

    /// <summary>Whether the visitor waits for <c>100 Continue</c> before it sends the body.</summary>
    public abstract bool ExpectsContinue { get; }

    /// <summary>Whether the visitor asks to switch protocols.</summary>
    public abstract bool IsUpgrade { get; }

    /// <summary>What is wrong with the request so that it must not be forwarded, or null.</summary>
    public abstract ProxyError? Fault { get; }

    /// <summary>An id for log lines. May cost something: only for failures.</summary>
    public abstract string RequestId { get; }

    /// <summary>
    /// What a trusted proxy in front says about where the request came from (<c>X-Forwarded-For</c>); null when there is none, or the peer is
    /// not trusted. For the access log.
    /// </summary>
    public virtual string? ForwardedFor => null;

    /// <summary>
    /// Writes <see cref="RequestId"/>, as much of it as fits. For every request when the access log is on: a front overrides it where it can
    /// do that without making the string.
    /// </summary>
    /// <returns>How many characters were written.</returns>
    public virtual int WriteRequestId(Span<char> destination)
    {
        var id = RequestId;
        var length = Math.Min(id.Length, destination.Length);
        id.AsSpan(0, length).CopyTo(destination);
        return length;
    }

    /// <summary>Whether a visitor whose body turned out to be broken can be told so, because its connection has not ended.</summary>
    public virtual bool CanAnswerBrokenBody => true;

    /// <summary>The request's body.</summary>
    public abstract PipeReader RequestBody { get; }

    /// <summary>The response's body, once <see cref="TryStartResponse"/> has been called.</summary>
    public abstract PipeWriter ResponseBody { get; }

    /// <summary>Whether the response's head has left, so that no other answer can be given.</summary>
    public abstract bool HasResponseStarted { get; }

    /// <summary>Whether the response may have a body at all.</summary>
    public abstract bool ResponseMayHaveBody { get; }

    /// <summary>Signalled when the visitor leaves before the end.</summary>
    public abstract CancellationToken VisitorLeft { get; }

    /// <summary>Writes the request block's fields: all that are not hop-by-hop, and who forwarded what.</summary>
    /// <param name="writer">Where to.</param>
    /// <param name="target">The target to forward.</param>
    public abstract void WriteRequestBlock(ref HeaderBlockWriter writer, string target);

    /// <summary>Passes an interim response on, where the version of HTTP and the front can.</summary>
    public abstract void SendInterim(scoped in HeaderBlock head);

    /// <summary>Sets the response's head from a block. Nothing is sent yet.</summary>
    /// <returns>False when the block cannot become a response: nothing of it was kept.</returns>
    public abstract bool TryStartResponse(scoped in HeaderBlock head);

    /// <summary>Adds trailers, where the version of HTTP and the front can.</summary>
    public abstract void SendTrailers(scoped in HeaderBlock trailers);

    /// <summary>Sends the head that was set, so that the visitor sees it before the body.</summary>
    public abstract ValueTask FlushHeadAsync();

    /// <summary>Switches the connection to raw bytes, behind a 101 whose head has been set.</summary>
    public abstract Task<Stream> UpgradeAsync();

    /// <summary>Answers with an error of ProxyEntry's own; aborts when a response has begun.</summary>
    public abstract Task WriteErrorAsync(ProxyError error, int? retryAfterSeconds);

    /// <summary>Cuts the exchange off, so that the visitor cannot take what it has for a whole response.</summary>
    public abstract void Abort();
}
