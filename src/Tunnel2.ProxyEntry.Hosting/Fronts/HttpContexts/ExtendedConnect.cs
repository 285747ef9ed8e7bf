using Microsoft.AspNetCore.Http.Features;
using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.WebSockets;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>
/// A WebSocket that a visitor asks for on a stream of HTTP/2 (RFC 8441). To the backend it is the upgrade of HTTP/1.1 with a key of ours,
/// because HTTP/2 has none; so its answer to the key is checked here, and ends here.
/// </summary>
internal sealed class ExtendedConnect
{
    /// <summary>What the method of the request is to the backend.</summary>
    public const string BackendMethod = "GET";

    /// <summary>CANCEL: what a reset of TCP is on a stream (RFC 8441 section 5).</summary>
    private const int CancelCode = 0x8;

    private readonly IHttpExtendedConnectFeature _feature;
    private readonly string _key = WebSocketHandshake.CreateKey();

    private ExtendedConnect(IHttpExtendedConnectFeature feature)
    {
        _feature = feature;
    }

    /// <summary>Whether the stream carries raw bytes now.</summary>
    public bool IsAccepted { get; private set; }

    /// <summary>Takes up a CONNECT request if it is one for a WebSocket, and drops fields that HTTP/2 does not have for it.</summary>
    /// <param name="features">The request's features.</param>
    /// <param name="fields">The request's fields.</param>
    /// <returns>Null when it asks for something else.</returns>
    public static ExtendedConnect? TryTake(IFeatureCollection features, IHeaderDictionary fields)
    {
        if (features.Get<IHttpExtendedConnectFeature>() is not { IsExtendedConnect: true } feature
            || !string.Equals(feature.Protocol, WebSocketHandshake.Protocol, StringComparison.OrdinalIgnoreCase))
        {
            return null;
        }

        // What is sent on the stream is no body: its limit does not hold.
        if (features.Get<IHttpMaxRequestBodySizeFeature>() is { IsReadOnly: false } limit)
        {
            limit.MaxRequestBodySize = null;
        }

        fields.Remove("Sec-WebSocket-Key");
        fields.Remove("Sec-WebSocket-Accept");
        return new ExtendedConnect(feature);
    }

    /// <summary>Writes the fields that make an upgrade of the request.</summary>
    public void WriteRequestFields(ref HeaderBlockWriter writer)
    {
        writer.AddField("Upgrade", WebSocketHandshake.Protocol);
        writer.AddField("Sec-WebSocket-Key", _key);
    }

    /// <summary>Whether a final answer of the backend can be given to the visitor, for whom 2xx means that the WebSocket is open.</summary>
    public bool CanAnswer(scoped in HeaderBlock head) => head.Status == StatusCodes.Status101SwitchingProtocols
        ? WebSocketHandshake.IsAccepted(head, _key)
        : head.Status is < StatusCodes.Status200OK or >= StatusCodes.Status300MultipleChoices;

    /// <summary>Whether a field of the backend's answer is for us and not for the visitor.</summary>
    public static bool EndsHere(KnownField known) => known == KnownField.SecWebSocketAccept;

    /// <summary>The status that the visitor gets for one of the backend.</summary>
    public static int VisitorStatus(int status) => status == StatusCodes.Status101SwitchingProtocols ? StatusCodes.Status200OK : status;

    /// <summary>Opens the WebSocket with the head that was set.</summary>
    public async ValueTask<UpgradedConnection> AcceptAsync(HttpContext http)
    {
        IsAccepted = true;
        var stream = await _feature.AcceptAsync().ConfigureAwait(false);
        return new HttpContextUpgrade(stream, http.Features.Get<IHttpResponseBodyFeature>());
    }

    /// <summary>Cuts the stream, and no other of its connection.</summary>
    public static void Reset(HttpContext http)
    {
        if (http.Features.Get<IHttpResetFeature>() is { } feature)
        {
            feature.Reset(CancelCode);
        }
        else
        {
            http.Abort();
        }
    }
}
