using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Tests.Configuration;

public sealed class DescriptorBudgetTests
{
    private const int Open = 180;

    [Theory]
    [InlineData(211)]
    [InlineData(230)]
    [InlineData(256)]
    [InlineData(512)]
    [InlineData(1024)]
    [InlineData(4096)]
    [InlineData(65_536)]
    [InlineData(1 << 20)]
    [InlineData(int.MaxValue)]
    public void All_kinds_together_stay_below_the_limit_with_the_reserve(int limit)
    {
        var settings = SettingsFixture.LoadValid();
        var budget = DescriptorBudget.Divide(limit, Open, settings);
        Assert.NotNull(budget);
        Assert.Empty(budget.Reduced);
        AssertFits(budget, settings);
        Assert.Equal(Math.Max(1, budget.Visitors / 2), budget.VisitorsPerAddress);
    }

    [Fact]
    public void Too_few_are_refused()
    {
        var settings = SettingsFixture.LoadValid();
        Assert.Equal(211, DescriptorBudget.Least(210, Open, settings));
        Assert.Null(DescriptorBudget.Divide(210, Open, settings));
        Assert.Null(DescriptorBudget.Divide(280, Open, SettingsFixture.LoadValid("Relay:Listen=127.0.0.1:0")));
    }

    [Fact]
    public void What_is_set_holds_where_it_fits_and_the_rest_is_divided()
    {
        var settings = SettingsFixture.LoadValid(
            "Limits:Connections=300", "Limits:ConnectionsPerAddress=7", "Uplink:Connections=50", "Hub:MaxConnections=11");
        var budget = DescriptorBudget.Divide(1024, Open, settings)!;
        Assert.Equal((300, 7, 50, 11), (budget.Visitors, budget.VisitorsPerAddress, budget.Uplinks, budget.Subscribers));
        Assert.Empty(budget.Reduced);
        AssertFits(budget, settings);
    }

    [Fact]
    public void What_is_set_never_takes_the_places_of_handshakes_and_administration()
    {
        var settings = SettingsFixture.LoadValid("Limits:Connections=400", "Uplink:Connections=300", "Hub:MaxConnections=100");
        var budget = DescriptorBudget.Divide(1024, Open, settings)!;
        AssertFits(budget, settings);
        Assert.Equal(3, budget.Reduced.Count);
        Assert.True(budget is { Handshakes: > 10, Admin: > 10 });
    }

    [Fact]
    public void What_does_not_fit_is_reduced_and_leaves_something_for_what_is_not_set()
    {
        var settings = SettingsFixture.LoadValid("Limits:Connections=5000", "Uplink:Connections=5000");
        var budget = DescriptorBudget.Divide(1024, Open, settings)!;
        AssertFits(budget, settings);
        Assert.InRange(budget.Visitors, 100, 1000);
        Assert.InRange(budget.Uplinks, 100, 1000);
        Assert.InRange(budget.Admin, 10, 1000);
        Assert.Equal(
            [$"Tunnel2:Uplink:Connections=5000: {budget.Uplinks}", $"Tunnel2:Limits:Connections=5000: {budget.Visitors}"], budget.Reduced);
    }

    [Theory]
    [InlineData("Limits:Connections=0")]
    [InlineData("Limits:ConnectionsPerAddress=1000001")]
    [InlineData("Uplink:Connections=0")]
    [InlineData("Uplink:Connections=many")]
    [InlineData("Uplink:SessionsPerAgent=0")]
    [InlineData("Hub:MaxConnections=0")]
    [InlineData("Tcp:PortsPerAgent=0")]
    [InlineData("Udp:PortsPerAgent=10001")]
    public void Impossible_numbers_are_refused(string setting) =>
        Assert.Equal("Tunnel2:" + setting.Split('=')[0], Assert.Single(SettingsFixture.Load(setting).Errors).Key);

    [Fact]
    public void The_sessions_of_an_agent_are_a_number()
    {
        var hash = "Agents:web:TokenHash=" + SettingsFixture.HashSetting("t");
        Assert.Equal(3, SettingsFixture.LoadValid(hash, "Agents:web:Sessions=3").Agents.Find("web")!.Sessions);
        Assert.Null(SettingsFixture.LoadValid(hash, "Limits:Connections=auto").Agents.Find("web")!.Sessions);
        Assert.Equal("Tunnel2:Agents:web:Sessions", Assert.Single(SettingsFixture.Load(hash, "Agents:web:Sessions=0").Errors).Key);
    }

    private static void AssertFits(DescriptorBudget budget, ProxyEntrySettings settings)
    {
        var sum = budget.Visitors + budget.Uplinks + budget.Handshakes + budget.Admin + budget.Subscribers;
        Assert.InRange(sum, 1, budget.Limit - Open - DescriptorBudget.Reserve(budget.Limit, settings));
        Assert.All(
            [budget.Visitors, budget.Uplinks, budget.Handshakes, budget.Admin, budget.Subscribers], static share => Assert.True(share > 0));
    }
}
