using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Api.Documents;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>The agents that may connect. Thread-safe.</summary>
internal sealed class AgentsApi(AgentRegistry agents, ISessionDirectory directory)
{
    /// <summary>The agents that may connect.</summary>
    public ValueTask<ApiAnswer> ListAsync(ApiCall call)
    {
        var sessions = directory.Snapshot()
            .Where(static session => session.Grant is not null)
            .CountBy(static session => session.Grant!.AgentId, StringComparer.OrdinalIgnoreCase)
            .ToDictionary(StringComparer.OrdinalIgnoreCase);
        return ValueTask.FromResult(ApiAnswer.Of(new AgentList
        {
            Agents =
            [
                .. agents.Current.All.OrderBy(static agent => agent.Id, StringComparer.Ordinal).Select(agent => new AgentInfo
                {
                    Id = agent.Id,
                    Names = [.. agent.Names.Select(static name => name.ToString())],
                    Tier = agent.Tier,
                    HasCertificate = agent.CertificateFingerprint is not null || agent.CertificateName is not null,
                    Sessions = sessions.GetValueOrDefault(agent.Id),
                }),
            ],
        }));
    }
}
