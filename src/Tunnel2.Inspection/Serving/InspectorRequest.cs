namespace Tunnel2.Inspection.Serving;

/// <summary>A request to the inspector, taken by any server. Immutable.</summary>
internal sealed record InspectorRequest
{
    /// <summary>The method.</summary>
    public required string Method { get; init; }

    /// <summary>The path, still with its percent-codes.</summary>
    public required string Path { get; init; }

    /// <summary>The query without its question mark.</summary>
    public string Query { get; init; } = "";

    /// <summary>The media type of the body, or empty.</summary>
    public string ContentType { get; init; } = "";

    /// <summary>The whole body.</summary>
    public ReadOnlyMemory<byte> Body { get; init; }

    /// <summary>Who sent it, for the audit.</summary>
    public string? From { get; init; }

    /// <summary>Whether a node of the cluster asks, for what it shows to a viewer that it has checked.</summary>
    public bool IsOfNode { get; init; }

    /// <summary>Cancelled when the caller has gone: no change is waited for any longer.</summary>
    public CancellationToken Gone { get; init; }

    /// <summary>Whether secrets are asked for.</summary>
    public bool Reveals => this["reveal"] == "1";

    /// <summary>The value of a parameter of the query, or null.</summary>
    public string? this[string name]
    {
        get
        {
            foreach (var part in Query.Split('&'))
            {
                var equals = part.IndexOf('=', StringComparison.Ordinal);
                if ((equals < 0 ? part : part[..equals]) == name)
                {
                    return equals < 0 ? "" : Uri.UnescapeDataString(part[(equals + 1)..].Replace('+', ' '));
                }
            }

            return null;
        }
    }
}
