using System.Text;
using Tunnel2.Policies.Reading;
using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Tests.Agents;

public sealed class KeptPolicyTableTests
{
    private static readonly KeptPolicy _agent = Keep(PolicyScope.Agent, "web");
    private static readonly KeptPolicy _token = Keep(PolicyScope.Token, "ci");
    private static readonly KeptPolicy _name = Keep(PolicyScope.Name, "shop");
    private static readonly KeptPolicy _configured = Keep(PolicyScope.Agent, "configured");

    [Fact]
    public void A_session_has_the_policies_of_its_agent_its_token_and_its_name_after_that_of_the_settings()
    {
        var configured = new AgentSettings("Web", null, [], null) { Policy = _configured.Policy };
        var registry = new AgentRegistry(new AgentTable([configured]));
        registry.ReplacePolicies(new KeptPolicyTable([_name, _token, _agent]));
        var grant = new AgentGrant("Web", null, null);
        var table = registry.Current;
        Assert.Equal([_configured.Policy, _agent.Policy], table.PoliciesOf(grant, "other"));
        Assert.Equal(
            [_configured.Policy, _agent.Policy, _token.Policy, _name.Policy],
            table.PoliciesOf(grant with { TokenName = "ci" }, "shop"));
        Assert.Equal([_token.Policy], table.PoliciesOf(new AgentGrant("b", null, null) { TokenName = "ci" }, "web"));
        Assert.Equal([_name.Policy], table.PoliciesOf(null, "shop"));
        Assert.Empty(table.PoliciesOf(null, "web"));
    }

    [Fact]
    public void They_stay_when_settings_and_tokens_change()
    {
        var registry = new AgentRegistry(new AgentTable([]));
        registry.ReplacePolicies(new KeptPolicyTable([_name]));
        registry.Replace(new AgentTable([]));
        registry.ReplaceIssued([]);
        Assert.Equal([_name.Policy], registry.Current.PoliciesOf(null, "shop"));
        registry.ReplacePolicies(KeptPolicyTable.Empty);
        Assert.Empty(registry.Current.PoliciesOf(null, "shop"));
    }

    private static KeptPolicy Keep(PolicyScope scope, string name) => new(
        new PolicyTarget(scope, name),
        PolicyReader.Read(Encoding.UTF8.GetBytes($$"""[ { "path": "/{{scope}}/{{name}}", "deny": true } ]""")).Policy!,
        DateTimeOffset.UnixEpoch);
}
