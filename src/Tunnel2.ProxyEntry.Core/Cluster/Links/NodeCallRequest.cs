using System.Net;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>A call of the API for another node, which this node has allowed. Immutable.</summary>
/// <param name="Method">The method.</param>
/// <param name="Target">Path and query, with their percent-codes.</param>
internal sealed record NodeCallRequest(string Method, string Target)
{
    /// <summary>The media type of the body; empty: there is none.</summary>
    public string ContentType { get; init; } = "";

    /// <summary>The body.</summary>
    public ReadOnlyMemory<byte> Body { get; init; }

    /// <summary>Whether the answer waits for something to happen, so that its time says nothing of the node.</summary>
    public bool Waits { get; init; }

    /// <summary>The address of who asked this node.</summary>
    public IPAddress? Address { get; init; }

    /// <summary>What this node knows of who asked it, in words, for the log of the other one.</summary>
    public string Credential { get; init; } = "";
}
