using System.Net;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Tests.Uplink;

public sealed class UplinkQuotaTests
{
    private static readonly AgentGrant _grant = new("web", null, null);

    [Fact]
    public void An_agent_gets_as_many_sessions_as_it_may_and_takes_over_its_own()
    {
        var quota = Create("Agents:web:TokenHash=" + SettingsFixture.HashSetting("t"), "Agents:web:Sessions=2");
        Assert.Null(quota.TryEnter(Session("agent web"), false));
        var second = Session("agent web");
        Assert.Null(quota.TryEnter(second, false));
        Assert.Equal("The agent has 2 sessions, and may have 2.", quota.TryEnter(Session("agent web"), false));
        Assert.Null(quota.TryEnter(Session("agent other"), false));

        // Taking over is free, but not without end.
        Assert.Null(quota.TryEnter(Session("agent web"), true));
        Assert.Null(quota.TryEnter(Session("agent web"), true));
        Assert.NotNull(quota.TryEnter(Session("agent web"), true));
        quota.LeaveSession(second);
        Assert.Null(quota.TryEnter(Session("agent web"), true));
    }

    [Fact]
    public void Further_uplinks_leave_a_quarter_to_sessions()
    {
        var quota = Create();
        quota.MostConnections = 4;
        Assert.Null(quota.TryEnter(Session(null), false));
        Assert.True(quota.TryJoin());
        Assert.True(quota.TryJoin());
        Assert.False(quota.TryJoin());
        Assert.Null(quota.TryEnter(Session(null), false));
        Assert.Equal("The server has as many connections of agents as it may.", quota.TryEnter(Session(null), false));
        quota.LeaveConnection();
        Assert.Null(quota.TryEnter(Session(null), false));
    }

    [Theory]
    [InlineData("127.0.0.1", null)]
    [InlineData("::1", null)]
    [InlineData("192.0.2.1", "address 00000000000000000000ffffc0000201")]
    [InlineData("2001:db8:1:2:3::4", "address 20010db8000100020000000000000000")]
    public void Agents_without_a_token_count_by_their_address(string address, string? holder)
    {
        Assert.Equal(holder, UplinkQuota.HolderOf(null, IPAddress.Parse(address)));
        Assert.Equal("agent web", UplinkQuota.HolderOf(_grant, IPAddress.Parse(address)));
    }

    private static UplinkQuota Create(params string[] settings)
    {
        var loaded = SettingsFixture.LoadValid(settings);
        return new UplinkQuota(loaded, new AgentRegistry(loaded.Agents));
    }

    private static EntrySession Session(string? holder)
    {
        var grant = holder is null ? null : new AgentGrant(holder["agent ".Length..], null, null);
        return Sample.Session("n", "a", grant, holder);
    }
}
