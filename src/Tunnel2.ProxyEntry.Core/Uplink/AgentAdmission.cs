using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Routing;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>The decision about a HELLO.</summary>
/// <param name="Reject">The refusal, or null.</param>
/// <param name="Name">The name that the session may register.</param>
/// <param name="Identity">Who the agent is.</param>
/// <param name="Grant">How the agent was admitted; null without a token or certificate.</param>
internal readonly record struct AdmissionResult(RejectMessage? Reject, string Name, AgentIdentity Identity, AgentGrant? Grant);

/// <summary>Decides whether an agent may have the name it wants. Thread-safe.</summary>
internal sealed class AgentAdmission
{
    private readonly ProxyEntrySettings _settings;
    private readonly AgentRegistry _agents;
    private readonly FailedAttempts _failures;

    public AgentAdmission(ProxyEntrySettings settings, AgentRegistry agents, FailedAttempts failures)
    {
        _settings = settings;
        _agents = agents;
        _failures = failures;
    }

    /// <summary>Judges a HELLO.</summary>
    /// <param name="hello">The agent's message.</param>
    /// <param name="peer">The peer that sent it.</param>
    public AdmissionResult Admit(HelloMessage hello, UplinkPeer peer = default)
    {
        if (!_failures.MayTry(peer.Address, out var wait))
        {
            // Before any check, so the answer shows nothing about the token.
            return Refuse(RejectCode.Overloaded, "Too many failed attempts from this address.", wait);
        }

        if (!ProtocolVersion.TryChoose(hello.LowestVersion, hello.HighestVersion, out _))
        {
            return Refuse(
                RejectCode.VersionNotSupported,
                $"This server speaks version {ProtocolVersion.Lowest} to {ProtocolVersion.Highest}; the agent {hello.LowestVersion} to "
                    + $"{hello.HighestVersion}.");
        }

        // Looked up for every kind of proof, so that every refusal takes as long. A token counts before a certificate.
        var agents = _agents.Current;
        var byToken = agents.FindByToken(hello.Proof.Span);
        var agent = hello.ProofKind switch
        {
            TokenProofKind.Bearer => byToken,
            TokenProofKind.None when peer.Certificate is { } certificate => agents.FindByCertificate(certificate),
            _ => null,
        };

        // A wrong token is refused even where none is needed, because an agent that sends one claims an identity. The same holds for a
        // certificate.
        var claimsToBeSomebody = hello.ProofKind != TokenProofKind.None || peer.Certificate is not null;
        if (agent is null && (claimsToBeSomebody || !_settings.AnonymousAgentsAllowed))
        {
            _failures.Note(peer.Address);
            return Refuse(RejectCode.Unauthorized, "The token or certificate is missing or not accepted.");
        }

        var name = hello.WantedName.Length == 0 ? RandomName.Create() : hello.WantedName.ToLowerInvariant();
        var problem = PublicName.Check(name, _settings.EntryId);
        if (problem != PublicNameProblem.None)
        {
            return Refuse(RejectCode.InvalidName, PublicName.Describe(problem, _settings.EntryId));
        }

        if (!agents.MayClaim(agent, name))
        {
            return Refuse(RejectCode.NameNotAllowed, "The name is reserved, or the token may not claim it.");
        }

        var identity = agent is null ? AgentIdentity.OfInstance(hello.InstanceKey.Span) : AgentIdentity.OfToken(agent.Id);
        var grant = agent is null ? null
            : hello.ProofKind == TokenProofKind.Bearer ? new AgentGrant(agent.Id, agent.TokenHash, null)
            : new AgentGrant(agent.Id, null, peer.Certificate);
        return new AdmissionResult(null, name, identity, grant);
    }

    private static AdmissionResult Refuse(RejectCode code, string text, TimeSpan wait = default) =>
        new(new RejectMessage(code, wait, text), "", default, null);
}
