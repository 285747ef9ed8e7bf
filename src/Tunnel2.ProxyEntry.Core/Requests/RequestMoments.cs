namespace Tunnel2.ProxyEntry.Requests;

/// <summary>What a <see cref="RequestObserver"/> may want to be told of a request.</summary>
[Flags]
internal enum RequestMoments
{
    None = 0,

    /// <summary>The request has come.</summary>
    Began = 1,

    /// <summary>It has a stream.</summary>
    StreamOpened = 2,

    /// <summary>The head of its response has come.</summary>
    Answered = 4,

    /// <summary>It goes to another stream.</summary>
    Moved = 8,

    /// <summary>Its stream is released.</summary>
    StreamEnded = 16,

    /// <summary>ProxyEntry fails it.</summary>
    Failed = 32,

    /// <summary>It was upgraded, and goes on.</summary>
    Lasts = 64,

    /// <summary>It is over.</summary>
    Ended = 128,
}
