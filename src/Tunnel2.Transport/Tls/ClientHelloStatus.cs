namespace Tunnel2.Transport.Tls;

/// <summary>What is known about the first bytes of a visitor.</summary>
internal enum ClientHelloStatus
{
    /// <summary>They are the beginning of a ClientHello.</summary>
    NeedMore,

    /// <summary>They are a whole ClientHello that names the server.</summary>
    Named,

    /// <summary>They are a whole ClientHello that names no server.</summary>
    Unnamed,

    /// <summary>They are not the beginning of a ClientHello.</summary>
    Invalid,

    /// <summary>They are the beginning of a ClientHello that is longer than the limit.</summary>
    TooLong,
}
