using Microsoft.AspNetCore.Http.Features;
using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.WebSockets;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>
/// A WebSocket that a visitor opens on a stream of HTTP/2 (RFC 8441). The backend gets it as an upgrade of HTTP/1.1. HTTP/2 has no key, so
/// ProxyEntry makes one, and checks and removes the backend's answer to it.
/// </summary>
internal sealed class ExtendedConnect
{
    /// <summary>The method of the request for the backend.</summary>
    public const string BackendMethod = "GET";

    /// <summary>CANCEL: on a stream it means what a reset means on TCP (RFC 8441 section 5).</summary>
    private const int CancelCode = 0x8;

    private readonly IHttpExtendedConnectFeature _feature;
    private readonly string _key = WebSocketHandshake.CreateKey();

    private ExtendedConnect(IHttpExtendedConnectFeature feature)
    {
        _feature = feature;
    }

    /// <summary>Whether the stream carries raw bytes now.</summary>
    public bool IsAccepted { get; private set; }

    /// <summary>Accepts a CONNECT request for a WebSocket, and removes fields that such a request must not have in HTTP/2.</summary>
    /// <param name="features">The request's features.</param>
    /// <param name="fields">The request's fields.</param>
    /// <returns>Null when it is another kind of request.</returns>
    public static ExtendedConnect? TryTake(IFeatureCollection features, IHeaderDictionary fields)
    {
        if (features.Get<IHttpExtendedConnectFeature>() is not { IsExtendedConnect: true } feature
            || !string.Equals(feature.Protocol, WebSocketHandshake.Protocol, StringComparison.OrdinalIgnoreCase))
        {
            return null;
        }

        // The bytes on the stream are not a body, so its limit does not apply.
        if (features.Get<IHttpMaxRequestBodySizeFeature>() is { IsReadOnly: false } limit)
        {
            limit.MaxRequestBodySize = null;
        }

        fields.Remove("Sec-WebSocket-Key");
        fields.Remove("Sec-WebSocket-Accept");
        return new ExtendedConnect(feature);
    }

    /// <summary>Writes the fields that make the request an upgrade.</summary>
    public void WriteRequestFields(ref HeaderBlockWriter writer)
    {
        writer.AddField("Upgrade", WebSocketHandshake.Protocol);
        writer.AddField("Sec-WebSocket-Key", _key);
    }

    /// <summary>What the service gets in a field that the visitor's protocol does not have; null: the field is another one.</summary>
    public string? FieldValue(string name) => name.ToUpperInvariant() switch
    {
        "CONNECTION" => "Upgrade",
        "UPGRADE" => WebSocketHandshake.Protocol,
        "SEC-WEBSOCKET-KEY" => _key,
        _ => null,
    };

    /// <summary>Whether a final answer of the backend can be sent to the visitor, for whom 2xx means that the WebSocket is open.</summary>
    public bool CanAnswer(scoped in HeaderBlock head) => head.Status == StatusCodes.Status101SwitchingProtocols
        ? WebSocketHandshake.IsAccepted(head, _key)
        : head.Status is < StatusCodes.Status200OK or >= StatusCodes.Status300MultipleChoices;

    /// <summary>Whether a field of the backend's answer is for ProxyEntry and not for the visitor.</summary>
    public static bool EndsHere(KnownField known) => known == KnownField.SecWebSocketAccept;

    /// <summary>The visitor's status for a status of the backend.</summary>
    public static int VisitorStatus(int status) => status == StatusCodes.Status101SwitchingProtocols ? StatusCodes.Status200OK : status;

    /// <summary>Opens the WebSocket with the head that was set before.</summary>
    public async ValueTask<UpgradedConnection> AcceptAsync(HttpContext http)
    {
        IsAccepted = true;
        var stream = await _feature.AcceptAsync().ConfigureAwait(false);
        return new HttpContextUpgrade(stream, http.Features.Get<IHttpResponseBodyFeature>());
    }

    /// <summary>Resets the stream, without effect on the other streams of its connection.</summary>
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
