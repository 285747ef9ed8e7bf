namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The settings of names that several agents share. Immutable.</summary>
internal sealed class PoolSettings(SettingsReader read)
{
    /// <summary>The highest value of <see cref="Members"/>.</summary>
    public const int MostMembers = 64;

    /// <summary>How many sessions may share a name.</summary>
    public int Members { get; } = read.Number(
        "Pool:Members", 32, 1, MostMembers,
        "agents that may share one name or port (`--pool`); one more is asked to come again later; see [pools](pools.md)");

    /// <summary>How long the slow start of a member lasts; zero: there is none.</summary>
    public TimeSpan SlowStart { get; } = OffIsZero(read.DurationOrOff(
        "Pool:SlowStart", "10s", "100ms", "10m",
        "how long an agent that joined a pool, or whose service works again, gets fewer requests than the others: a tenth of its share at "
        + "first, then more and more"));

    /// <summary>How long a member is spared whose service took no connection; zero: not at all.</summary>
    public TimeSpan Pause { get; } = OffIsZero(read.DurationOrOff(
        "Pool:Pause", "1s", "100ms", "1m",
        "how long an agent of a pool whose service took no connection gets no requests while another one serves"));

    private static TimeSpan OffIsZero(TimeSpan value) => value == Timeout.InfiniteTimeSpan ? TimeSpan.Zero : value;
}
