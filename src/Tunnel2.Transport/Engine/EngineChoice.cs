namespace Tunnel2.Transport.Engine;

/// <summary>What holds for this process.</summary>
/// <param name="Mode">Who runs continuations; never <see cref="EngineMode.Auto"/>.</param>
/// <param name="Transport">What moves bytes; never <see cref="TransportMode.Auto"/>, and epoll only with the event loop.</param>
internal readonly record struct EngineChoice(EngineMode Mode, TransportMode Transport);
