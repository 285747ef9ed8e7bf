namespace Tunnel2.FunctionalTests.Processes;

/// <summary>How long tests wait at most for what has no deadline of its own. Generous: two busy processors run everything.</summary>
internal static class Limits
{
    /// <summary>For a program to be ready.</summary>
    public static readonly TimeSpan Start = TimeSpan.FromSeconds(60);

    /// <summary>For a test that starts several programs beside a tunnel.</summary>
    public static readonly TimeSpan Programs = 3 * Start;

    /// <summary>For a client to finish its work.</summary>
    public static readonly TimeSpan Work = TimeSpan.FromSeconds(60);
}
