using Tunnel2.Transport.Engine;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>
/// The engine of a ProxyEntry or an agent inside the test process: by default the one that runs in production, on more loops
/// than a test needs, so that connections move and streams cross. The variable <c>TUNNEL2_TEST_ENGINE=portable</c> chooses the other,
/// <c>TUNNEL2_TEST_LOOPS</c> the number of loops.
/// </summary>
internal static class TestEngine
{
    /// <summary>
    /// Whether the agent's code runs on several threads at once. A backend's connection is back in its pool right after the answer: on the
    /// one thread of the event loop before the next request is seen, here perhaps a moment later.
    /// </summary>
    public static bool IsPortable => Environment.GetEnvironmentVariable("TUNNEL2_TEST_ENGINE") == "portable";

    /// <summary>Event loops of each engine.</summary>
    private static int Loops =>
        Environment.GetEnvironmentVariable("TUNNEL2_TEST_LOOPS") is { Length: > 0 } text
            ? int.Parse(text, System.Globalization.CultureInfo.InvariantCulture)
            : 3;

    /// <summary>The engine of an agent as it runs in production with <c>--loops auto</c> on a machine of that many processors.</summary>
    public static IEngine CreateGrowing(int processors) =>
        EngineSetup.Start(IsPortable ? EngineMode.Portable : EngineMode.Auto, loops: 1, most: processors);

    /// <summary>The engine of a test.</summary>
    /// <param name="portable">Whether the test asks for the portable one.</param>
    /// <param name="loops">How many loops the test asks for; null: as many as all tests have.</param>
    public static IEngine Create(bool portable = false, int? loops = null) =>
        EngineSetup.Start(IsPortable || portable ? EngineMode.Portable : EngineMode.Auto, loops ?? Loops);
}
