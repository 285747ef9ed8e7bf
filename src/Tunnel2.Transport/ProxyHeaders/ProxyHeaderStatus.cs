namespace Tunnel2.Transport.ProxyHeaders;

/// <summary>What is known about the first bytes of a connection from a balancer.</summary>
internal enum ProxyHeaderStatus
{
    /// <summary>They are the beginning of a header.</summary>
    NeedMore,

    /// <summary>They begin with a whole header.</summary>
    Done,

    /// <summary>They are not the beginning of a header, or of one that is too long.</summary>
    Invalid,
}
