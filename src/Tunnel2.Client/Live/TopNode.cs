namespace Tunnel2.Client.Live;

/// <summary>What is known of a node of a cluster. Not thread-safe.</summary>
/// <param name="name">The node.</param>
internal sealed class TopNode(string name)
{
    /// <summary>The node.</summary>
    public string Name => name;

    /// <summary>As the server says it: <c>up</c>, <c>lost</c>, <c>connecting</c> or <c>older</c>.</summary>
    public string State { get; set; } = "connecting";

    /// <summary>Whether what it sends is of the present.</summary>
    public bool IsUp => State == "up";

    /// <summary>Its version, or empty.</summary>
    public string Version { get; set; } = "";

    /// <summary>Messages of it that the server has not got.</summary>
    public long Skipped { get; set; }
}
