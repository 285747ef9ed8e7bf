namespace Tunnel2.Client.Live;

/// <summary>The options of <c>tunnel2 top</c>. Immutable.</summary>
internal sealed record TopOptions
{
    /// <summary>The hub's address, <c>ws://…/live</c>.</summary>
    public required Uri Hub { get; init; }

    /// <summary>The server as the user named it, without secrets.</summary>
    public required string Server { get; init; }

    /// <summary>The admin token, or null.</summary>
    public string? Token { get; init; }

    /// <summary>The length of the shown windows, in seconds: 1, 10 or 60.</summary>
    public int WindowSeconds { get; init; } = 1;

    /// <summary>Whether to print the table once and end.</summary>
    public bool Once { get; init; }

    /// <summary>Whether to print objects of JSON instead of a table.</summary>
    public bool Json { get; init; }

    /// <summary>Whether a terminal may be given colours.</summary>
    public bool HasColors { get; init; }

    /// <summary>The window's key in the hub's messages.</summary>
    public string WindowKey => WindowSeconds switch { 1 => "1s", 10 => "10s", _ => "1m" };
}
