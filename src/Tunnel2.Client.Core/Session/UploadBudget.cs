using System.Globalization;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.Client.Core.Session;

/// <summary>
/// The memory of the process for bodies that services have not taken, and the report to the user, at most once a second, when uploads were
/// cut because it was short. Thread-safe.
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
            var message = string.Create(
                CultureInfo.InvariantCulture,
                $"{count} uploads were cut: services take nothing of them, and {held} of {limit} MiB were held (--buffer-megabytes). "
                    + $"Visitors get 504.");
            events.UploadsCut(count, held, limit, message);
        };
        return budget;
    }
}
