namespace Tunnel2.ProxyEntry.Domains;

/// <summary>What an answer of a name server is.</summary>
internal enum TxtAnswer
{
    /// <summary>It does not belong to the question.</summary>
    NotOurs,

    /// <summary>It was too long for a datagram.</summary>
    Cut,

    /// <summary>The name server could not answer, or not in a form that can be read.</summary>
    Failed,

    /// <summary>The records of the name, or that it has none.</summary>
    Records,
}
