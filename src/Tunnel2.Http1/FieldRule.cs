namespace Tunnel2.Http1;

/// <summary>What happens to a field of a forwarded message. <see cref="FieldTable"/> gives each field its rules.</summary>
internal enum FieldRule : byte
{
    /// <summary>It passes unchanged, unless Connection lists it.</summary>
    Pass,

    /// <summary>
    /// It passes also when Connection lists it, because it frames or routes the message: a sender that lists it wants it removed.
    /// </summary>
    Keep,

    /// <summary>It is removed, and the message passes without it.</summary>
    Drop,

    /// <summary>The message must not pass, because it could be read in two ways.</summary>
    Refuse,

    /// <summary>Content-Length of a response: it passes if the response may have a body.</summary>
    Length,

    /// <summary>TE: only its value <c>trailers</c> passes.</summary>
    Trailers,

    /// <summary>Upgrade: it passes in a message that asks for other protocols, switches to one, or wants one first (426).</summary>
    Protocols,

    /// <summary>
    /// A forwarding field: ProxyEntry writes its own, and keeps the values of a trusted proxy. For the agent it is an ordinary field.
    /// </summary>
    Forwarding,

    /// <summary>
    /// The same, but ProxyEntry writes none. It passes from a trusted proxy, also when Connection lists it, and from no other visitor.
    /// </summary>
    TrustedForwarding,

    /// <summary>It passes, unless ProxyEntry continues the trace with its own value.</summary>
    Trace,

    /// <summary>It passes, unless ProxyEntry itself has judged the visitor by it: then it is not the service's business.</summary>
    Credentials,

    /// <summary>ProxyEntry removes the visitor's and writes its own. For the agent it is an ordinary field.</summary>
    Identity,
}
