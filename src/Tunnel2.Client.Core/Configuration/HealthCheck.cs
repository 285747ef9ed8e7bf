namespace Tunnel2.Client.Core.Configuration;

/// <summary>How the agent of a pool checks its service. Immutable.</summary>
/// <param name="Target">What it asks for: a path, <see cref="Connect"/>, or null: it does not check.</param>
public sealed record HealthCheck(string? Target = null)
{
    /// <summary>The target of a check that only connects.</summary>
    public const string Connect = "tcp";

    private const int LongestPath = 1024;

    /// <summary>The time from one check to the next.</summary>
    public TimeSpan Interval { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>How long a check may take.</summary>
    public TimeSpan Timeout { get; init; } = TimeSpan.FromSeconds(3);

    /// <summary>How many checks in a row fail until the service counts as unhealthy.</summary>
    public int Failures { get; init; } = 3;

    /// <summary>How many checks in a row succeed until it counts as healthy again.</summary>
    public int Successes { get; init; } = 2;

    /// <summary>Whether the check is a request.</summary>
    public bool IsRequest => Target is not null and not Connect;

    /// <summary>What is wrong with a target, or null.</summary>
    internal static string? FindMistake(string text) =>
        text == Connect || (text.Length is > 0 and <= LongestPath && text[0] == '/' && text.All(static c => c is > ' ' and < '\x7f'))
            ? null
            : $"'{text}' is neither a path that begins with / nor tcp";
}
