namespace Tunnel2.LoadTests.Scenarios;

/// <summary>One kind of request.</summary>
/// <param name="Kind">What it does.</param>
/// <param name="Size">N of <see cref="RequestKind"/>: bytes, events or messages.</param>
internal sealed record RequestTemplate(RequestKind Kind, int Size)
{
    /// <summary>Between server-sent events.</summary>
    public TimeSpan Interval { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <summary>The payload of a WebSocket message, 1 to 65,535.</summary>
    public int MessageBytes { get; init; } = 1024;

    /// <summary>The path and query.</summary>
    public string Path => Kind switch
    {
        RequestKind.Download => $"/bytes/{Size}",
        RequestKind.Echo => "/echo",
        RequestKind.Events => $"/sse?count={Size}&interval={(int)Interval.TotalMilliseconds}",
        _ => "/ws-echo",
    };

    /// <summary>The request as people read it.</summary>
    public string Description => Kind switch
    {
        RequestKind.Echo => $"POST {Path}, {Size} bytes that come back",
        RequestKind.WebSocket => $"WebSocket {Path}, {Size} messages of {MessageBytes} bytes",
        _ => $"GET {Path}",
    };
}
