namespace Tunnel2.Transport.Engine;

/// <summary>How the data plane's code is run (docs/decisions/0001-event-loop-engine.md).</summary>
internal enum EngineMode
{
    /// <summary>Event-loop on two cores or fewer, portable above.</summary>
    Auto,

    /// <summary>Socket completions and everything behind them run on the socket engine's own thread.</summary>
    EventLoop,

    /// <summary>Completions run on the thread pool, as .NET does by default.</summary>
    Portable,
}
