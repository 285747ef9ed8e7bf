namespace Tunnel2.Client.Services;

/// <summary>What a service manager says of a service. Immutable.</summary>
/// <param name="IsInstalled">Whether there is one.</param>
/// <param name="State">In the manager's word: active, activating, failed, inactive, running, stopped, …</param>
/// <param name="IsRunning">Whether its process runs and is ready.</param>
internal sealed record ServiceState(bool IsInstalled, string State, bool IsRunning)
{
    /// <summary>There is no such service.</summary>
    public static readonly ServiceState None = new(false, "not installed", false);

    /// <summary>Whether it starts with the machine, or when its user logs in; null: unknown.</summary>
    public bool? StartsByItself { get; init; }

    /// <summary>Its process, or null.</summary>
    public int? ProcessId { get; init; }

    /// <summary>How often the manager has started it again; null: unknown.</summary>
    public int? Restarts { get; init; }

    /// <summary>How its process ended last; null: unknown, or it has not.</summary>
    public int? ExitCode { get; init; }

    /// <summary>What the process last said of itself, or null.</summary>
    public string? Message { get; init; }
}
