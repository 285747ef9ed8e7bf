using System.Net;
using System.Text;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Tests.Uplink;

public sealed class AgentAdmissionTests
{
    private static readonly byte[] _key = [.. "0123456789abcdef"u8];

    private static readonly AgentAdmission _open = Create();

    private static readonly AgentAdmission _closed = Create(
        "AllowAnonymousAgents=false", "Agents:shop:TokenHash=" + SettingsFixture.HashSetting("secret"), "Agents:shop:Names=shop,shop-*");

    [Fact]
    public void Without_tokens_the_instance_is_the_owner()
    {
        var result = _open.Admit(Hello("web"));
        Assert.Null(result.Reject);
        Assert.Equal(("web", AgentIdentity.OfInstance(_key)), (result.Name, result.Identity));
    }

    [Fact]
    public void With_a_token_its_agent_is_the_owner_wherever_it_runs()
    {
        var result = _closed.Admit(Hello("shop-7", "secret"));
        Assert.Null(result.Reject);
        Assert.Equal(("shop-7", AgentIdentity.OfToken("shop")), (result.Name, result.Identity));
    }

    [Theory]
    [InlineData("shop", null, RejectCode.Unauthorized)]
    [InlineData("shop", "", RejectCode.Unauthorized)]
    [InlineData("shop", "secre", RejectCode.Unauthorized)]
    [InlineData("shop", "SECRET", RejectCode.Unauthorized)]
    [InlineData("blog", "secret", RejectCode.NameNotAllowed)]
    [InlineData("shopping", "secret", RejectCode.NameNotAllowed)]
    [InlineData("a_b", "secret", RejectCode.InvalidName)]
    [InlineData("shop-e1", "secret", RejectCode.InvalidName)]
    public void An_agent_that_may_not_have_a_name_is_refused_for_good(string name, string? token, RejectCode expected)
    {
        var reject = _closed.Admit(Hello(name, token)).Reject;
        Assert.Equal((expected, TimeSpan.Zero, false), (reject?.Code, reject!.RetryAfter, reject.IsRetryable));
        Assert.True(string.IsNullOrEmpty(token) || !reject.Text.Contains(token, StringComparison.OrdinalIgnoreCase));
    }

    [Theory]
    [InlineData("app.example.org", null)]
    [InlineData("APP.example.org", null)]
    [InlineData("*.example.net", null)]
    [InlineData("www.example.org", RejectCode.NameNotAllowed)]
    [InlineData("app..example.org", RejectCode.InvalidName)]
    [InlineData("192.0.2.1", RejectCode.InvalidName)]
    [InlineData("web.tunnel.example.com", RejectCode.InvalidName)]
    [InlineData("tunnel.example.com", RejectCode.InvalidName)]
    [InlineData("*.tunnel.example.com", RejectCode.InvalidName)]
    public void A_domain_needs_a_token_that_may_claim_it(string domain, RejectCode? expected)
    {
        var admission = Create(
            "Domain=tunnel.example.com", "Agents:web:TokenHash=" + SettingsFixture.HashSetting("secret"),
            "Agents:web:Names=app.example.org,*.example.net");
        var result = admission.Admit(Hello(domain, "secret"));
        Assert.Equal(expected, result.Reject?.Code);
        Assert.Equal(expected is null ? domain.ToLowerInvariant() : "", result.Name);
        Assert.Equal(
            expected is null ? RejectCode.NameNotAllowed : result.Reject!.Code, admission.Admit(Hello(domain)).Reject?.Code);
    }

    [Fact]
    public void A_wildcard_beside_the_servers_own_domain_is_refused() =>
        Assert.Equal(
            RejectCode.InvalidName,
            Create(
                "Domain=tunnel.example.com", "Agents:web:TokenHash=" + SettingsFixture.HashSetting("secret"), "Agents:web:Names=*.*")
                .Admit(Hello("*.example.com", "secret")).Reject?.Code);

    [Fact]
    public void A_port_has_no_domain() =>
        Assert.Equal(
            RejectCode.InvalidName, _open.Admit(Hello("app.example.org") with { Kind = SessionKind.Tcp }).Reject?.Code);

    [Fact]
    public void A_wrong_token_is_refused_even_where_none_is_needed() =>
        Assert.Equal(RejectCode.Unauthorized, _open.Admit(Hello("web", "wrong")).Reject?.Code);

    [Fact]
    public void An_unknown_kind_of_proof_is_refused_even_where_none_is_needed() =>
        Assert.Equal(RejectCode.Unauthorized, _open.Admit(Hello("web") with { ProofKind = (TokenProofKind)77 }).Reject?.Code);

    [Theory]
    [InlineData(2, 9)]
    [InlineData(0, 0)]
    [InlineData(2, 1)]
    public void Versions_that_do_not_meet_are_refused_before_anything_else(byte lowest, byte highest) =>
        Assert.Equal(
            RejectCode.VersionNotSupported,
            _closed.Admit(Hello("?") with { LowestVersion = lowest, HighestVersion = highest }).Reject?.Code);

    [Fact]
    public void A_name_is_given_in_lower_case_and_made_up_where_none_is_wanted()
    {
        Assert.Equal("web", _open.Admit(Hello("WeB")).Name);
        var first = _open.Admit(Hello("")).Name;
        Assert.Matches("^[a-z0-9]{10}$", first);
        Assert.NotEqual(first, _open.Admit(Hello("")).Name);
    }

    [Fact]
    public void Addresses_name_the_bound_ports_except_the_usual_ones()
    {
        var addresses = new PublicAddresses(SettingsFixture.LoadValid("Domain=tunnel.example"));
        addresses.Bound(new IPEndPoint(IPAddress.Loopback, 8080), null);
        Assert.Equal(["http://web.tunnel.example:8080"], addresses.All("web"));
        addresses.Bound(new IPEndPoint(IPAddress.Loopback, 80), new IPEndPoint(IPAddress.Loopback, 443));
        Assert.Equal(["https://web.tunnel.example", "http://web.tunnel.example"], addresses.All("web"));
        Assert.Equal("https://web.tunnel.example", addresses.Main("web"));
        addresses.Bound(new IPEndPoint(IPAddress.Loopback, 443), new IPEndPoint(IPAddress.Loopback, 80));
        Assert.Equal(["https://web.tunnel.example:80", "http://web.tunnel.example:443"], addresses.All("web"));
    }

    private static AgentAdmission Create(params string[] settings)
    {
        var loaded = SettingsFixture.LoadValid(settings);
        var time = TimeProvider.System;
        return new AgentAdmission(loaded, new AgentRegistry(loaded.Agents), new FailedAttempts(loaded, time), time);
    }

    private static HelloMessage Hello(string name, string? token = null) => new()
    {
        AgentName = "test",
        AgentVersion = "0",
        InstanceKey = _key,
        WantedName = name,
        ProofKind = token is null ? TokenProofKind.None : TokenProofKind.Bearer,
        Proof = token is null ? default : Encoding.UTF8.GetBytes(token),
    };
}
