namespace Tunnel2.Transport.ProxyHeaders;

/// <summary>Which header of the PROXY protocol is written.</summary>
internal enum ProxyHeaderVersion
{
    /// <summary>None.</summary>
    None = 0,

    /// <summary>A line of text.</summary>
    V1 = 1,

    /// <summary>Binary.</summary>
    V2 = 2,
}
