namespace Tunnel2.Protocol.Headers;

/// <summary>
/// What the entering node knows of a request's visitor (8 bits in a <see cref="NodeRequest"/>). Unknown bits are ignored.
/// </summary>
[Flags]
public enum NodeRequestFacts : byte
{
    /// <summary>None of them.</summary>
    None = 0,

    /// <summary>The visitor uses HTTPS, with the entering node or with a trusted proxy in front of it.</summary>
    Https = 0x01,

    /// <summary>The peer of the entering node is a trusted proxy.</summary>
    TrustedProxy = 0x02,

    /// <summary>The visitor waits for <c>100 Continue</c> before it sends its body.</summary>
    ExpectsContinue = 0x04,

    /// <summary>Another node has sessions of the name too, and gets the request if this one does nothing with it.</summary>
    HasOther = 0x08,
}
