namespace Tunnel2.TestUtilities;

/// <summary>A raw connection ended before what was asked for had come.</summary>
public sealed class RawConnectionEndedException(ConnectionEnding ending, string received)
    : IOException($"The connection ended ({ending}) too early; before that came: '{received}'")
{
    /// <summary>How it ended.</summary>
    public ConnectionEnding Ending { get; } = ending;

    /// <summary>What had come and was not yet used, as Latin-1.</summary>
    public string Received { get; } = received;
}
