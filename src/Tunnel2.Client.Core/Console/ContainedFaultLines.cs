using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Core.Console;

/// <summary>Writes a line for faults of the agent's own that cost a connection, or nothing, and not the process.</summary>
internal static class ContainedFaultLines
{
    /// <summary>Writes them, at most once a second.</summary>
    /// <param name="engine">The process's engine.</param>
    /// <param name="error">Where to. Used on the pool: output may block, and the caller's thread serves all connections.</param>
    public static void Report(IEngine engine, TextWriter error) =>
        engine.Faults.Report = (place, count, fault) => ThreadPool.UnsafeQueueUserWorkItem(
            error.WriteLine,
            $"tunnel2: internal error contained at: {place} ({count} since the last such line): {fault}",
            preferLocal: false);
}
