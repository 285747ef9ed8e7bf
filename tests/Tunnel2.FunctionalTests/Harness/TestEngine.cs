using Tunnel2.Transport.Engine;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>
/// The engine of a ProxyEntry or an agent inside the test process: by default the event loop over epoll where there is one, because that is what
/// runs in production. The variable <c>TUNNEL2_TEST_ENGINE=portable</c> chooses the other.
/// </summary>
internal static class TestEngine
{
    public static IEngine Create() => Environment.GetEnvironmentVariable("TUNNEL2_TEST_ENGINE") == "portable"
        ? new PortableEngine()
        : EngineSetup.Start(EngineSetup.Prepare(EngineMode.Auto, TransportMode.Epoll));
}
