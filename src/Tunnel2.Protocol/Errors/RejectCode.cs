namespace Tunnel2.Protocol.Errors;

/// <summary>Why a HELLO or JOIN was refused (16 bits in REJECT).</summary>
public enum RejectCode : ushort
{
    /// <summary>Not a refusal.</summary>
    None = 0,

    /// <summary>The peers have no version in common.</summary>
    VersionNotSupported = 1,

    /// <summary>The wanted name breaks the rules for names.</summary>
    InvalidName = 2,

    /// <summary>Another identity has the name.</summary>
    NameTaken = 3,

    /// <summary>The token is missing, unknown, wrong or revoked: one answer for all four.</summary>
    Unauthorized = 4,

    /// <summary>The token may not claim this name.</summary>
    NameNotAllowed = 5,

    /// <summary>The message breaks the protocol.</summary>
    Malformed = 6,

    /// <summary>ProxyEntry has as many sessions or uplinks as it accepts; try again later.</summary>
    Overloaded = 7,

    /// <summary>ProxyEntry is stopping; try again later or at another server.</summary>
    GoingAway = 8,

    /// <summary>JOIN: the session is unknown or its proof is wrong.</summary>
    UnknownSession = 9,

    /// <summary>
    /// ProxyEntry speaks TLS at this address, and the peer spoke plaintext. Sent in plaintext, so that the peer can read it.
    /// </summary>
    TlsRequired = 10,

    /// <summary>ProxyEntry carries no sessions of the wanted kind.</summary>
    KindNotSupported = 11,

    /// <summary>The wanted port, or any port, is not available.</summary>
    PortNotAvailable = 12,

    /// <summary>ProxyEntry does not know one of the access rules, or cannot keep it for sessions of this kind.</summary>
    AccessNotSupported = 13,

    /// <summary>The token was right until its time was over.</summary>
    TokenExpired = 14,

    /// <summary>The session cannot share the name with the sessions that have it, or cannot have it alone.</summary>
    PoolNotPossible = 15,

    /// <summary>The agent has said that a session of its own runs, and that one is at this ProxyEntry.</summary>
    SessionRunning = 16,

    /// <summary>The agent has as many ports as ProxyEntry gives one agent.</summary>
    PortLimitReached = 17,
}
