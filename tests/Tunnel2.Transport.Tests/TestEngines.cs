using Tunnel2.Transport.Engine;

namespace Tunnel2.Transport.Tests;

/// <summary>The engines by a name that test methods can take.</summary>
internal static class TestEngines
{
    /// <summary>Starts the event-loop engine over <c>sockets</c> or <c>epoll</c>, or the <c>portable</c> one.</summary>
    public static IEngine Create(string name) => name switch
    {
        "epoll" => new EpollEngine(),
        "sockets" => new EventLoopEngine(),
        _ => new PortableEngine(),
    };
}
