using System.IO.Pipelines;
using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.Transport.Engine;

/// <summary>
/// Where the data plane's code runs: the one seam behind which all runtime tricks live. Thread-safe; one per process.
/// </summary>
internal interface IEngine : IDisposable
{
    /// <summary>The mode that was chosen, never <see cref="EngineMode.Auto"/>.</summary>
    EngineMode Mode { get; }

    /// <summary>Whether continuations run on the socket engine's thread, where nothing may block.</summary>
    bool IsInline { get; }

    /// <summary>Where an uplink's write loop continues.</summary>
    PipeScheduler WriterScheduler { get; }

    /// <summary>Adds the engine's choices to an uplink's settings.</summary>
    UplinkSettings Apply(UplinkSettings settings);
}
