namespace Tunnel2.ProxyEntry.Requests;

/// <summary>The moments of a request that a <see cref="RequestObserver"/> can ask for.</summary>
[Flags]
internal enum RequestMoments
{
    None = 0,

    /// <summary>The request has arrived.</summary>
    Began = 1,

    /// <summary>It has a stream.</summary>
    StreamOpened = 2,

    /// <summary>The head of its response has arrived.</summary>
    Answered = 4,

    /// <summary>It moves to another stream.</summary>
    Moved = 8,

    /// <summary>Its stream is released.</summary>
    StreamEnded = 16,

    /// <summary>ProxyEntry fails it.</summary>
    Failed = 32,

    /// <summary>It was upgraded and still runs.</summary>
    Lasts = 64,

    /// <summary>It is over.</summary>
    Ended = 128,

    /// <summary>It is over, and another node has served it.</summary>
    Carried = 256,
}
