namespace Tunnel2.Client.Doctor;

/// <summary>How good a finding is.</summary>
internal enum FindingState
{
    /// <summary>As it should be.</summary>
    Ok = 0,

    /// <summary>It was not looked at, and the message says why.</summary>
    Skipped,

    /// <summary>Tunnels work, and something may fail later.</summary>
    Warning,

    /// <summary>Tunnels do not work.</summary>
    Wrong,
}

/// <summary>What one look has found. Immutable.</summary>
/// <param name="Name">What was looked at; a stable word.</param>
/// <param name="State">How good it is.</param>
/// <param name="Message">What was seen, in one line.</param>
/// <param name="Remedy">What to do; null: nothing.</param>
internal sealed record Finding(string Name, FindingState State, string Message, string? Remedy = null)
{
    /// <summary>The state as a stable word.</summary>
    public string Word => State switch
    {
        FindingState.Ok => "ok",
        FindingState.Skipped => "skipped",
        FindingState.Warning => "warning",
        _ => "wrong",
    };

    public static Finding Ok(string name, string message) => new(name, FindingState.Ok, message);

    public static Finding Skipped(string name, string message) => new(name, FindingState.Skipped, message);

    public static Finding Warning(string name, string message, string remedy) => new(name, FindingState.Warning, message, remedy);

    public static Finding Wrong(string name, string message, string remedy) => new(name, FindingState.Wrong, message, remedy);
}
