namespace Tunnel2.Protocol.Handshake;

/// <summary>How a HELLO proves who the agent is.</summary>
public enum TokenProofKind : byte
{
    /// <summary>No proof: the instance key is the identity.</summary>
    None = 0,

    /// <summary>The token itself; sent only over TLS or to a loopback address.</summary>
    Bearer = 1,
}
