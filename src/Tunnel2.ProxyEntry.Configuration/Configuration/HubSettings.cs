using System.Globalization;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Limits of the live view's hub. Immutable.</summary>
internal sealed class HubSettings(SettingsReader read)
{
    private const string MemoryReject = "Hub:MemoryReject";
    private const string MemoryAccept = "Hub:MemoryAccept";
    private const string CpuReject = "Hub:CpuReject";
    private const string CpuAccept = "Hub:CpuAccept";
    private const string SeeLive = "see [the limits of the hub](live.md#limits-of-the-hub)";

    /// <summary>How many subscribers the hub takes at most; null: by the limit of open files.</summary>
    public int? MaxConnections { get; } = read.CountOrAuto(
        SettingKeys.HubMaxConnections,
        "subscribers of the live view at once; more get 503. `auto`: 12,000, or fewer where the "
        + "[limit of open files](settings.md#how-many-connections) is lower");

    public int ConnectionsPerSecond { get; } = read.Number(
        "Hub:ConnectionsPerSecond", 1000, 1, 1_000_000, "new subscribers a second in all, in bursts of twice as many; more get 503");

    public int ConnectionsPerAddress { get; } = read.Number(
        "Hub:ConnectionsPerAddress", 100, 1, 1_000_000,
        "new subscribers a second from one address (IPv6: /64), in bursts of twice as many; more get 429. After a proxy, all have its "
        + "address");

    public double MemoryRejectShare { get; } = read.Share(
        MemoryReject, 0.75, mayBeZero: false,
        $"above this share of the container's memory new subscribers get 503, and before that slow ones are paused; {SeeLive}");

    public double MemoryAcceptShare { get; } = read.Share(
        MemoryAccept, 0.65, mayBeZero: true, "after that, new ones are accepted again and paused ones continue at this share or less");

    public double CpuRejectShare { get; } = read.Share(
        CpuReject, 0.75, mayBeZero: false, "the same for the container's processors");

    public double CpuAcceptShare { get; } = read.Share(CpuAccept, 0.65, mayBeZero: true, "the same for the container's processors");

    public double Smoothing { get; } = read.Share(
        "Hub:Smoothing", 0.3, mayBeZero: false,
        "how much each reading of memory and processors, one a second, counts in the share that is compared; `1`: the reading alone");

    public int MaxThreads { get; } = read.Number(
        "Hub:MaxThreads", 1000, 50, 1_000_000,
        "threads of the process above which new subscribers get 503, until there are nine tenths of it or fewer");

    /// <summary>Reports shares that could not end what they began.</summary>
    public void Check(SettingsReader read)
    {
        CheckShares(read, MemoryReject, MemoryRejectShare, MemoryAccept, MemoryAcceptShare);
        CheckShares(read, CpuReject, CpuRejectShare, CpuAccept, CpuAcceptShare);
    }

    private static void CheckShares(SettingsReader read, string rejectKey, double reject, string acceptKey, double accept)
    {
        if (accept >= reject && !read.HasError(rejectKey) && !read.HasError(acceptKey))
        {
            read.Report(
                acceptKey,
                string.Create(
                    CultureInfo.InvariantCulture,
                    $"{accept} is not below {SettingKeys.Section}:{rejectKey} ({reject}): the answer would change with every reading."));
        }
    }
}
