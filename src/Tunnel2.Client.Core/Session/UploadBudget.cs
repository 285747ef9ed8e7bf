using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// The memory of the process for bodies that services have not taken, and what the user is told when uploads were cut because it was short:
/// at most once a second. Thread-safe.
/// </summary>
internal static class UploadBudget
{
    private const long Megabyte = 1024 * 1024;

    /// <summary>Makes the budget that an agent's options ask for.</summary>
    public static ReceiveBudget Create(AgentOptions options, IAgentEvents events, TimeProvider timeProvider, ContainedFaults faults)
    {
        var budget = new ReceiveBudget(
            options.BufferMegabytes is { } megabytes ? megabytes * Megabyte : ReceiveBudget.DefaultLimit, timeProvider, faults);
        budget.StreamsCut += count =>
        {
            var (held, limit) = (budget.Held / Megabyte, budget.Limit / Megabyte);
            events.UploadsCut(count, held, limit, BackendWords.UploadsCut(count, held, limit));
        };
        return budget;
    }
}
