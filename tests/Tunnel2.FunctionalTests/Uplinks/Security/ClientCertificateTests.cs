using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;

namespace Tunnel2.FunctionalTests.Uplinks.Security;

/// <summary>Agents that show a certificate instead of a token.</summary>
public sealed class ClientCertificateTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();
    private readonly TestAuthority _servers = new();
    private readonly TestAuthority _agents = new();
    private readonly string _pinned;

    public ClientCertificateTests()
    {
        File.WriteAllText(_folder["uplink.pem"], _servers.Issue("127.0.0.1"));
        File.WriteAllText(_folder["ca.pem"], _servers.Pem);
        File.WriteAllText(_folder["agents.pem"], _agents.Pem);
        File.WriteAllText(_folder["shop.pem"], _agents.Issue("Shop", isServer: false));
        File.WriteAllText(_folder["unknown.pem"], _agents.Issue("blog", isServer: false));
        File.WriteAllText(_folder["expired.pem"], _agents.Issue("shop", isServer: false, from: -3, to: -1));
        File.WriteAllText(_folder["server.pem"], _agents.Issue("shop"));
        using var other = new TestAuthority();
        File.WriteAllText(_folder["other.pem"], other.Issue("shop", isServer: false));
        _pinned = other.Issue("whoever", isServer: false);
        File.WriteAllText(_folder["pinned.pem"], _pinned);
    }

    [Fact]
    public async Task A_certificate_of_the_authority_or_a_pinned_one_lets_its_agent_in()
    {
        await using var entry = await StartAsync();
        await using var shop = await AgentFixture.StartReadyAsync(Options(entry, "shop.pem", "shop-1"));
        await using var pinned = await AgentFixture.StartReadyAsync(Options(entry, "pinned.pem", "pin"));
        Assert.Equal(["agent:pin", "agent:shop"], entry.Directory.Snapshot().Select(static session => session.Identity.Value).Order());
    }

    [Theory]
    [InlineData(null)]
    [InlineData("unknown.pem")]
    [InlineData("other.pem")]
    [InlineData("expired.pem")]
    [InlineData("server.pem")]
    public async Task No_certificate_or_a_wrong_one_is_refused_as_a_wrong_token_is(string? file)
    {
        await using var entry = await StartAsync();
        await using var agent = AgentFixture.Start(Options(entry, file, "shop-1"));
        await using var wrongToken = AgentFixture.Start(Options(entry, null, "shop-1") with { Token = "wrong" });
        Assert.Equal(3, await agent.Completion.WaitAsync(TimeSpan.FromSeconds(20)));
        Assert.Equal(3, await wrongToken.Completion.WaitAsync(TimeSpan.FromSeconds(20)));
        var end = Assert.Single(agent.Events.Ends);
        Assert.Equal((ConnectionEndReason.RejectedPermanently, RejectionReason.Unauthorized), (end.Reason, end.Rejection?.Reason));
        Assert.Equal(Assert.Single(wrongToken.Events.Ends).Message, end.Message);
        entry.Log.AssertNoErrors();
    }

    [Fact]
    public async Task A_certificate_gives_no_name_of_another_agent()
    {
        await using var entry = await StartAsync();
        await using var agent = AgentFixture.Start(Options(entry, "pinned.pem", "shop-1"));
        Assert.Equal(3, await agent.Completion.WaitAsync(TimeSpan.FromSeconds(20)));
        Assert.Equal(RejectionReason.NameNotAllowed, Assert.Single(agent.Events.Ends).Rejection?.Reason);
    }

    [Fact]
    public async Task Where_no_agent_is_asked_for_a_certificate_it_may_have_one()
    {
        await using var entry = await EntryFixture.StartAsync(null, "Uplink:Certificate=" + _folder["uplink.pem"]);
        await using var agent = await AgentFixture.StartReadyAsync(Options(entry, "other.pem", "anybody"));
        Assert.Equal("anonymous", entry.Session.Identity.ToString());
    }

    public void Dispose()
    {
        _servers.Dispose();
        _agents.Dispose();
        _folder.Dispose();
    }

    private Task<EntryFixture> StartAsync() => EntryFixture.StartAsync(
        null,
        "Uplink:Certificate=" + _folder["uplink.pem"],
        "Uplink:ClientCa=" + _folder["agents.pem"],
        "AllowAnonymousAgents=false",
        "Agents:shop:CertificateName=shop",
        "Agents:shop:Names=shop-*",
        "Agents:pin:CertificateFingerprint=" + TestAuthority.Fingerprint(_pinned));

    private AgentOptions Options(EntryFixture entry, string? file, string name) => AgentFixture.Options(entry.Uplink.Port, 9, name) with
    {
        Tls = new TlsOptions { ServerCaFile = _folder["ca.pem"], ClientCertificateFile = file is null ? null : _folder[file] },
    };
}
