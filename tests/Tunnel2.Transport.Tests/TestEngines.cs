using Tunnel2.Transport.Engine;

namespace Tunnel2.Transport.Tests;

/// <summary>The engines by a name that test methods can take.</summary>
internal static class TestEngines
{
    /// <summary>Starts <c>epoll</c> or <c>portable</c>.</summary>
    public static IEngine Create(string name) => name switch
    {
        "epoll" => new EpollEngine(),
        _ => new PortableEngine(),
    };
}
