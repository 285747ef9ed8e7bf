using System.Net;

namespace Tunnel2.LoadTests;

/// <summary>What was asked for on the command line.</summary>
internal sealed record LoadOptions
{
    /// <summary>The scenarios' names, as they were typed.</summary>
    public IReadOnlyList<string> Scenarios { get; init; } = [];

    /// <summary>Multiplies every duration, &gt; 0.</summary>
    public double DurationScale { get; init; } = 1;

    /// <summary>How long each kind of request is sent before it counts.</summary>
    public TimeSpan WarmUp { get; init; } = TimeSpan.FromSeconds(3);

    /// <summary>The folder for results; null: a new one below artifacts/load-tests.</summary>
    public string? Results { get; init; }

    /// <summary>Runs each scenario through the ancestor's design too, after Tunnel2.</summary>
    public bool AsAncestor { get; init; }

    /// <summary>Where a tunnel runs already; null: start one.</summary>
    public IPEndPoint? Target { get; init; }

    /// <summary>The Host of each tunnel that runs already.</summary>
    public IReadOnlyList<string> Hosts { get; init; } = [];
}
