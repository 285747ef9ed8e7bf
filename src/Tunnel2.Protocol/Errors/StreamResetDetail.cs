namespace Tunnel2.Protocol.Errors;

/// <summary>More about a <see cref="StreamResetReason"/>, for the person who reads the error (16 bits on the wire).</summary>
public enum StreamResetDetail : ushort
{
    /// <summary>No detail.</summary>
    None = 0,

    /// <summary>The backend's port refused the connection.</summary>
    ConnectionRefused = 1,

    /// <summary>The backend's name did not resolve.</summary>
    NameNotResolved = 2,

    /// <summary>Connecting to the backend took longer than the limit.</summary>
    ConnectTimeout = 3,

    /// <summary>The network or host of the backend is unreachable.</summary>
    Unreachable = 4,

    /// <summary>The backend's TLS handshake failed.</summary>
    TlsFailed = 5,

    /// <summary>The backend closed the connection before it answered.</summary>
    ClosedBeforeResponse = 6,

    /// <summary>The backend closed the connection before the end of its body.</summary>
    ClosedInBody = 7,

    /// <summary>The backend's response head is not HTTP.</summary>
    MalformedHead = 8,

    /// <summary>The backend's response head exceeds the limits.</summary>
    HeadTooLarge = 9,

    /// <summary>The backend's body is malformed: its chunks, or in HTTP/2 its length.</summary>
    MalformedBody = 10,

    /// <summary>The backend switched protocols without being asked.</summary>
    UnexpectedUpgrade = 11,

    /// <summary>No byte of the body moved for longer than the idle limit.</summary>
    BodyIdle = 12,

    /// <summary>The agent has as many streams as it accepts.</summary>
    TooManyStreams = 13,

    /// <summary>The agent is going away.</summary>
    GoingAway = 14,

    /// <summary>Memory for unread bytes was short, and this stream had stalled for the longest time.</summary>
    Stalled = 15,

    /// <summary>The backend speaks TLS, and plain HTTP was tried.</summary>
    SpeaksTls = 16,

    /// <summary>The backend speaks HTTP/2, and HTTP/1.1 was tried.</summary>
    SpeaksHttp2 = 17,

    /// <summary>The backend does not speak TLS, and it was tried.</summary>
    NotTls = 18,

    /// <summary>The agent has as many connections to backends as it may have, and none became free in time.</summary>
    TooManyConnections = 19,

    /// <summary>The agent's process has no file descriptor left for a connection to the backend.</summary>
    NoDescriptors = 20,

    /// <summary>The agent's settings ask for HTTP/2 with the backend, which does not speak it.</summary>
    NotHttp2 = 21,

    /// <summary>A node link: the node does not have the session, or not any more.</summary>
    SessionLeft = 22,

    /// <summary>The backend closed the connection before it answered, and had asked the agent for a certificate.</summary>
    WantsCertificate = 23,

    /// <summary>
    /// The backend reset its stream of HTTP/2. The error code of RFC 9113 section 7 is the detail's value less this one, 0 to 255
    /// (<see cref="StreamResetDetails"/>).
    /// </summary>
    Http2Reset = 256,
}
