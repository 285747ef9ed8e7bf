namespace Tunnel2.Client.Live;

/// <summary>What <c>tunnel2 top</c> was asked for. Immutable.</summary>
internal sealed record TopOptions
{
    /// <summary>The hub's address, <c>ws://…/live</c>.</summary>
    public required Uri Hub { get; init; }

    /// <summary>The server as it was named, without secrets.</summary>
    public required string Server { get; init; }

    /// <summary>The admin token, or null.</summary>
    public string? Token { get; init; }

    /// <summary>Which windows are shown, in seconds: 1, 10 or 60.</summary>
    public int WindowSeconds { get; init; } = 1;

    /// <summary>Print what there is and end.</summary>
    public bool Once { get; init; }

    /// <summary>The window's key in the hub's messages.</summary>
    public string WindowKey => WindowSeconds switch { 1 => "1s", 10 => "10s", _ => "1m" };
}
