using System.Buffers.Text;
using System.Text;
using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>How a request's body is framed towards the backend.</summary>
internal enum RequestFraming
{
    /// <summary>There is no body.</summary>
    None,

    /// <summary>Content-Length, which the agent enforces: what differs from it never reaches the backend as a whole request.</summary>
    Length,

    /// <summary>The chunked coding.</summary>
    Chunked,

    /// <summary>Raw bytes, once the backend has switched protocols.</summary>
    Raw,
}

/// <summary>What an exchange needs to know of its request's head beyond the bytes it sends.</summary>
internal readonly record struct RequestPlan(KnownMethod Method, RequestFraming Framing, long ContentLength, bool IsValid)
{
    /// <summary>Whether ProxyEntry wants to know what the exchange took here.</summary>
    public bool WantsTiming { get; init; }

    /// <summary>Whether it is gRPC, which has to go to the service in HTTP/2.</summary>
    public bool IsGrpc { get; init; }

    /// <summary>
    /// Whether it asks for a WebSocket: an upgrade in HTTP/1.1, an extended CONNECT in HTTP/2. Not without the method and the key of
    /// RFC 6455 section 4.2.1: in HTTP/2 there are neither, so the service could not refuse them.
    /// </summary>
    public bool IsWebSocket { get; init; }

    /// <summary>Whether a field is the one by which ProxyEntry says so; it goes no further.</summary>
    public static bool IsTimingField(ReadOnlySpan<byte> name) => name.Length == 14 && Ascii.EqualsIgnoreCase(name, "Tunnel2-Timing"u8);

    /// <summary>
    /// Whether the request may be sent again when a kept connection turns out to be closed: it has no body and its method is idempotent
    /// (RFC 9110 section 9.2.2), and as nothing of an answer had arrived, that is all it takes (RFC 9112 section 9.3.1).
    /// </summary>
    public bool IsReplayable => Framing == RequestFraming.None
        && Method is KnownMethod.Get or KnownMethod.Head or KnownMethod.Options or KnownMethod.Trace
            or KnownMethod.Put or KnownMethod.Delete;

    /// <summary>Reads the plan from a request block.</summary>
    /// <param name="block">The block.</param>
    /// <param name="ended">Whether the request ends with its head.</param>
    public static RequestPlan Read(scoped in HeaderBlock block, bool ended)
    {
        long? contentLength = null;
        var wantsTiming = false;
        var hasHost = false;
        var offersProtocol = false;
        var isGrpc = false;
        var isWebSocket = false;
        var (keys, isKey) = (0, false);
        foreach (var field in block.Fields)
        {
            switch (KnownFields.Classify(field.Name))
            {
                case KnownField.ContentLength:
                    if (!TryReadLength(field.Value, out var length) || (contentLength is not null && contentLength != length))
                    {
                        return default;
                    }

                    contentLength = length;
                    break;
                case KnownField.Host:
                    if (hasHost || !FieldSyntax.IsHost(field.Value))
                    {
                        return default;
                    }

                    hasHost = true;
                    break;
                case KnownField.Upgrade:
                    offersProtocol |= UpgradeSyntax.HasForwardable(field.Value);
                    isWebSocket |= Ascii.EqualsIgnoreCase(field.Value, "websocket"u8);
                    break;
                case KnownField.SecWebSocketKey:
                    keys++;
                    isKey = IsKey(field.Value);
                    break;
                case KnownField.ContentType:
                    isGrpc |= GrpcSyntax.IsGrpc(field.Value);
                    break;
                case KnownField.Tunnel2:
                    wantsTiming |= IsTimingField(field.Name);
                    break;
                case KnownField.TransferEncoding:
                // The wire has no transfer codings; a block with one comes from no honest peer.
                case var known when FieldRules.OfRequest(known) == FieldRule.Refuse:
                    return default;
                default:
                    break;
            }
        }

        var method = KnownMethods.Classify(block.Method);
        if (method == KnownMethod.Connect
            || !(block.Target.StartsWith("/"u8) || block.Target.SequenceEqual("*"u8))
            || (!hasHost && !block.Authority.IsEmpty && !FieldSyntax.IsHost(block.Authority)))
        {
            // By CONNECT, or by a target that names a host, a backend that is a proxy would open a way to anywhere.
            return default;
        }

        if ((block.Flags & HeaderBlockFlags.Upgrade) != 0)
        {
            return new RequestPlan(
                method, RequestFraming.Raw, 0, offersProtocol && (contentLength is null or 0))
            { WantsTiming = wantsTiming, IsWebSocket = isWebSocket && method == KnownMethod.Get && keys == 1 && isKey };
        }

        if (contentLength is { } declared)
        {
            return new RequestPlan(
                method,
                declared == 0 ? RequestFraming.None : RequestFraming.Length,
                declared,
                !ended || declared == 0)
            { WantsTiming = wantsTiming, IsGrpc = isGrpc };
        }

        return new RequestPlan(method, ended ? RequestFraming.None : RequestFraming.Chunked, 0, true)
        { WantsTiming = wantsTiming, IsGrpc = isGrpc };
    }

    private static bool IsKey(ReadOnlySpan<byte> value) =>
        value.Length == 24 && Base64.IsValid(value, out var length) && length == 16;

    private static bool TryReadLength(ReadOnlySpan<byte> value, out long length)
    {
        length = 0;
        return !value.IsEmpty && value.Length <= 19 && !value.ContainsAnyExceptInRange((byte)'0', (byte)'9')
            && Utf8Parser.TryParse(value, out length, out var consumed) && consumed == value.Length;
    }
}
