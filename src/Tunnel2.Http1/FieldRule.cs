namespace Tunnel2.Http1;

/// <summary>What happens to a field of a message that is forwarded. <see cref="FieldTable"/> gives each field its rules.</summary>
internal enum FieldRule : byte
{
    /// <summary>It passes as it is, unless Connection lists it.</summary>
    Pass,

    /// <summary>
    /// It passes even if Connection lists it, because it frames or routes the message: a sender that lists it wants it lost.
    /// </summary>
    Keep,

    /// <summary>It ends here, and the message passes without it.</summary>
    Drop,

    /// <summary>The message must not pass: it could be read in two ways.</summary>
    Refuse,

    /// <summary>Content-Length of a response: it passes where the response may have a body.</summary>
    Length,

    /// <summary>TE: of what it says only <c>trailers</c> passes.</summary>
    Trailers,

    /// <summary>Upgrade: it passes with the message that asks for other protocols or switches to one.</summary>
    Protocols,

    /// <summary>
    /// It says who forwarded what: ProxyEntry writes its own, and keeps what a trusted proxy wrote. To the agent it is a field like any
    /// other.
    /// </summary>
    Forwarding,

    /// <summary>
    /// The same, but ProxyEntry writes none: it passes from a trusted proxy, even if Connection lists it, and from no other visitor.
    /// </summary>
    TrustedForwarding,

    /// <summary>It passes, unless ProxyEntry continues the trace with its own.</summary>
    Trace,
}
