using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Tests.Configuration;

/// <summary>The limits of the live view's hub.</summary>
public sealed class HubSettingsTests
{
    [Fact]
    public void Without_settings_they_are_what_the_hub_had_before_they_could_be_set()
    {
        var hub = SettingsFixture.LoadValid().Hub;

        Assert.Null(hub.MaxConnections);
        Assert.Equal((1000, 100, 1000), (hub.ConnectionsPerSecond, hub.ConnectionsPerAddress, hub.MaxThreads));
        Assert.Equal((0.75, 0.65, 0.75, 0.65), Shares(hub));
        Assert.Equal(0.3, hub.Smoothing);
    }

    [Fact]
    public void Each_is_what_was_set()
    {
        var hub = SettingsFixture.LoadValid(
            "Hub:MaxConnections=7", "Hub:ConnectionsPerSecond=8", "Hub:ConnectionsPerAddress=9", "Hub:MaxThreads=50",
            "Hub:MemoryReject=0.9", "Hub:MemoryAccept=0.8", "Hub:CpuReject=1", "Hub:CpuAccept=0", "Hub:Smoothing=1").Hub;

        Assert.Equal((7, 8, 9, 50), (hub.MaxConnections, hub.ConnectionsPerSecond, hub.ConnectionsPerAddress, hub.MaxThreads));
        Assert.Equal((0.9, 0.8, 1.0, 0.0), Shares(hub));
        Assert.Equal(1, hub.Smoothing);
    }

    [Theory]
    [InlineData("ConnectionsPerSecond", "0")]
    [InlineData("ConnectionsPerSecond", "many")]
    [InlineData("ConnectionsPerAddress", "1000001")]
    [InlineData("MaxThreads", "49")]
    [InlineData("MemoryReject", "0")]
    [InlineData("MemoryReject", "75")]
    [InlineData("MemoryAccept", "-0.1")]
    [InlineData("CpuReject", "1.1")]
    [InlineData("CpuAccept", "75%")]
    [InlineData("Smoothing", "0")]
    [InlineData("Smoothing", "2")]
    public void A_value_out_of_range_is_a_mistake_of_its_key(string key, string value) =>
        Assert.Equal($"Tunnel2:Hub:{key}", Assert.Single(SettingsFixture.Load($"Hub:{key}={value}").Errors).Key);

    [Theory]
    [InlineData("Hub:MemoryReject=0.5", "Tunnel2:Hub:MemoryAccept", "0.65 is not below Tunnel2:Hub:MemoryReject (0.5)")]
    [InlineData("Hub:MemoryAccept=0.75", "Tunnel2:Hub:MemoryAccept", "0.75 is not below Tunnel2:Hub:MemoryReject (0.75)")]
    [InlineData("Hub:CpuReject=0.6", "Tunnel2:Hub:CpuAccept", "0.65 is not below Tunnel2:Hub:CpuReject (0.6)")]
    [InlineData("Hub:CpuAccept=0.9", "Tunnel2:Hub:CpuAccept", "0.9 is not below Tunnel2:Hub:CpuReject (0.75)")]
    public void Accepting_again_needs_a_lower_share_than_refusing(string setting, string key, string beginning)
    {
        var error = Assert.Single(SettingsFixture.Load(setting).Errors);

        Assert.Equal(key, error.Key);
        Assert.StartsWith(beginning, error.Message, StringComparison.Ordinal);
    }

    private static (double MemoryReject, double MemoryAccept, double CpuReject, double CpuAccept) Shares(HubSettings hub) =>
        (hub.MemoryRejectShare, hub.MemoryAcceptShare, hub.CpuRejectShare, hub.CpuAcceptShare);
}
