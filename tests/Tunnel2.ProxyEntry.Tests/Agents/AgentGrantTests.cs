using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Tests.Agents;

public sealed class AgentGrantTests
{
    private static readonly string _pin = new('a', 64);

    [Fact]
    public void A_token_grants_as_long_as_its_agent_has_it_and_the_name()
    {
        var table = Token("shop", "secret", "shop-*");
        var grant = new AgentGrant("shop", table.Find("shop")!.TokenHash, null);

        Assert.True(table.StillGrants(grant, "shop-1"));
        Assert.True(Token("SHOP", "secret", "shop-1").StillGrants(grant, "shop-1"));
        Assert.False(Token("shop", "secret", "shop-2").StillGrants(grant, "shop-1"));
        Assert.False(Token("shop", "other", "shop-*").StillGrants(grant, "shop-1"));
        Assert.False(Token("blog", "secret", "shop-*").StillGrants(grant, "shop-1"));
        Assert.False(Load("Agents:shop:CertificateFingerprint=" + _pin).StillGrants(grant, "shop-1"));
    }

    [Fact]
    public void A_certificate_grants_by_its_fingerprint_or_by_its_name_from_the_authority()
    {
        Assert.True(CertificateFingerprint.TryParse(_pin, out var fingerprint));
        var pinned = new AgentSettings("a", null, [], null) { CertificateFingerprint = fingerprint };
        var named = new AgentSettings("b", null, [], null) { CertificateName = "b" };
        var table = new AgentTable([pinned, named]);

        Assert.Same(pinned, table.FindByCertificate(new AgentCertificate(fingerprint, "b", IsIssuedByClientCa: false)));
        Assert.True(CertificateFingerprint.TryParse(new string('b', 64), out var other));
        Assert.Same(named, table.FindByCertificate(new AgentCertificate(other, "B", IsIssuedByClientCa: true)));
        Assert.Null(table.FindByCertificate(new AgentCertificate(other, "b", IsIssuedByClientCa: false)));
        Assert.Null(table.FindByCertificate(new AgentCertificate(other, "c", IsIssuedByClientCa: true)));
        Assert.False(table.StillGrants(new AgentGrant("b", null, new AgentCertificate(other, "b", IsIssuedByClientCa: false)), "name"));
        Assert.True(table.StillGrants(new AgentGrant("b", null, new AgentCertificate(other, "b", IsIssuedByClientCa: true)), "name"));
    }

    [Fact]
    public void An_agent_without_a_token_keeps_its_name_until_a_token_lists_it()
    {
        Assert.True(Load().StillGrants(null, "shop-1"));
        Assert.False(Token("shop", "secret", "shop-*").StillGrants(null, "shop-1"));
    }

    private static AgentTable Token(string id, string token, string names) =>
        Load($"Agents:{id}:TokenHash=" + SettingsFixture.HashSetting(token), $"Agents:{id}:Names={names}");

    private static AgentTable Load(params string[] settings) => SettingsFixture.LoadValid(settings).Agents;
}
