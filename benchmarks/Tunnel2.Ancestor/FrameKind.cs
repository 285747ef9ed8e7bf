namespace Tunnel2.Ancestor;

/// <summary>The frames of the ancestor's protocol.</summary>
internal enum FrameKind : byte
{
    /// <summary>The agent's first frame: the name of its session.</summary>
    Hello,

    /// <summary>OPEN_REQUEST_STREAM: method, target and headers as JSON.</summary>
    OpenRequest,

    /// <summary>DATA_REQUEST_STREAM: bytes of the request's body.</summary>
    DataRequest,

    /// <summary>CLOSE_REQUEST_STREAM: the request is complete.</summary>
    CloseRequest,

    /// <summary>Status and headers of the response as JSON.</summary>
    OpenResponse,

    /// <summary>Bytes of the response's body.</summary>
    DataResponse,

    /// <summary>The response is complete.</summary>
    CloseResponse,

    /// <summary>The exchange has failed.</summary>
    Abort,
}
