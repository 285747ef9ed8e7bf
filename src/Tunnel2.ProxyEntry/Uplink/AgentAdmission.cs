using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Routing;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>What became of a HELLO.</summary>
/// <param name="Reject">The refusal, or null.</param>
/// <param name="Name">The name that the session may register.</param>
/// <param name="Identity">Who the agent is.</param>
internal readonly record struct AdmissionResult(RejectMessage? Reject, string Name, AgentIdentity Identity);

/// <summary>Decides whether an agent may have the name it wants. Thread-safe.</summary>
internal sealed class AgentAdmission
{
    private readonly ProxyEntrySettings _settings;

    public AgentAdmission(ProxyEntrySettings settings) => _settings = settings;

    /// <summary>Judges a HELLO.</summary>
    public AdmissionResult Admit(HelloMessage hello)
    {
        if (!ProtocolVersion.TryChoose(hello.LowestVersion, hello.HighestVersion, out _))
        {
            return Refuse(
                RejectCode.VersionNotSupported,
                $"This server speaks version {ProtocolVersion.Lowest} to {ProtocolVersion.Highest}; the agent {hello.LowestVersion} to {hello.HighestVersion}.");
        }

        AgentSettings? agent = null;
        if (hello.ProofKind == TokenProofKind.Bearer)
        {
            agent = _settings.Agents.FindByToken(hello.Proof.Span);
        }

        // A wrong token is refused even where none is needed: whoever gives one means to be somebody.
        if (agent is null && (hello.ProofKind != TokenProofKind.None || !_settings.AnonymousAgentsAllowed))
        {
            return Refuse(RejectCode.Unauthorized, "The token is missing or not accepted.");
        }

        var name = hello.WantedName.Length == 0 ? RandomName.Create() : hello.WantedName.ToLowerInvariant();
        var problem = PublicName.Check(name, _settings.EntryId);
        if (problem != PublicNameProblem.None)
        {
            return Refuse(RejectCode.InvalidName, PublicName.Describe(problem, _settings.EntryId));
        }

        if (!_settings.Agents.MayClaim(agent, name))
        {
            return Refuse(RejectCode.NameNotAllowed, "The name is reserved, or the token may not claim it.");
        }

        var identity = agent is null ? AgentIdentity.OfInstance(hello.InstanceKey.Span) : AgentIdentity.OfToken(agent.Id);
        return new AdmissionResult(null, name, identity);
    }

    private static AdmissionResult Refuse(RejectCode code, string text) => new(new RejectMessage(code, TimeSpan.Zero, text), "", default);
}
