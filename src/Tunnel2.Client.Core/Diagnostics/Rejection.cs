namespace Tunnel2.Client.Core.Diagnostics;

/// <summary>What the server objects to, as far as the agent has words of its own for it.</summary>
public enum RejectionReason
{
    /// <summary>Something the agent has no words for; the server's text says what.</summary>
    Other = 0,

    /// <summary>The token is unknown, revoked, or missing.</summary>
    Unauthorized,

    /// <summary>The name belongs to another agent.</summary>
    NameTaken,

    /// <summary>The token may not claim that name, or the server does not accept it as a name.</summary>
    NameNotAllowed,

    /// <summary>Agent and server have no protocol version in common.</summary>
    VersionUnsupported,

    /// <summary>The server speaks TLS, and the agent did not.</summary>
    TlsRequired,

    /// <summary>The server is full, or something that it needs for the session does not answer; worth trying again.</summary>
    Busy,

    /// <summary>The name is still kept for an agent that has just left; worth trying again.</summary>
    NameKept,

    /// <summary>The server carries no tunnels of this kind, or is older than them.</summary>
    KindUnsupported,

    /// <summary>The server does not give the public port of a tunnel of TCP, or has none left.</summary>
    PortNotAvailable,

    /// <summary>The server does not know the access rules, or cannot keep them for tunnels of this kind.</summary>
    AccessUnsupported,

    /// <summary>The token was right until its time was over.</summary>
    TokenExpired,

    /// <summary>The agent cannot share the name with those that have it, or have it alone; or the server is older than pools.</summary>
    PoolNotPossible,

    /// <summary>The agent has as many public ports as the server gives one agent; worth trying again.</summary>
    PortLimitReached,
}

/// <summary>A server's refusal of a session.</summary>
/// <param name="Reason">What it is about.</param>
/// <param name="Code">The stable code of the wire, for logs and scripts, such as <c>name_taken</c>.</param>
/// <param name="Text">The server's own words; may be empty. Shown with control characters removed.</param>
public sealed record Rejection(RejectionReason Reason, string Code, string Text)
{
    /// <summary>One line for the user: what is wrong and what to do, then the server's words.</summary>
    public string Message
    {
        get
        {
            string words = Reason switch
            {
                RejectionReason.Unauthorized =>
                    "The server does not accept the token. Check --token or TUNNEL2_TOKEN, or --client-cert, and that the server knows it",
                RejectionReason.TokenExpired => "The token has expired. Ask the server's operator for a new one",
                RejectionReason.NameTaken =>
                    "The name is taken by another agent. Choose another with --name or --domain, or stop that agent",
                RejectionReason.NameNotAllowed => "The server does not allow this name. Do what it says, or choose another with --name",
                RejectionReason.VersionUnsupported =>
                    "This tunnel2 and the server have no protocol version in common. Update the older of the two",
                RejectionReason.TlsRequired => "The server expects TLS. Write it as tls://host:port",
                RejectionReason.NameKept => "The name is kept for the agent that had it a moment ago. This agent tries again",
                RejectionReason.KindUnsupported => "The server does not carry tunnels of this kind",
                RejectionReason.PortNotAvailable =>
                    "The server does not give this tunnel its public port. Choose another with --remote-port, or none",
                RejectionReason.PortLimitReached =>
                    "This agent, or another one of the same token or user, has as many public ports as the server gives one agent. Stop a "
                        + "tunnel that is not needed, or ask the server's operator for more",
                RejectionReason.AccessUnsupported =>
                    "The server cannot keep this tunnel's access rules, so the tunnel is not published",
                RejectionReason.PoolNotPossible => "This agent cannot have the name",
                RejectionReason.Busy => "The server does not take this session at the moment. The agent tries again",
                _ => "The server rejected the session",
            };
            return Text.Length == 0 ? $"{words} [{Code}]." : $"{words} [{Code}: {Text}].";
        }
    }
}
