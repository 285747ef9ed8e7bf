namespace Tunnel2.LoadTests.Scenarios;

/// <summary>What a visitor does, in terms of the test backend's paths.</summary>
internal enum RequestKind
{
    /// <summary>GET <c>/bytes/N</c>: N bytes, each known from its position.</summary>
    Download,

    /// <summary>POST <c>/echo</c> with N bytes that differ from request to request; the same come back.</summary>
    Echo,

    /// <summary>GET <c>/sse</c>: N server-sent events, <see cref="RequestTemplate.Interval"/> apart.</summary>
    Events,

    /// <summary>
    /// A WebSocket on <c>/ws-echo</c>: N messages of <see cref="RequestTemplate.MessageBytes"/>, each sent when the one before has come
    /// back.
    /// </summary>
    WebSocket,
}
