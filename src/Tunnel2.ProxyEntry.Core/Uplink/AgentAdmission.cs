using System.Globalization;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Routing;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tokens;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>The decision about a HELLO.</summary>
/// <param name="Reject">The refusal, or null.</param>
/// <param name="Name">The name that the session may register.</param>
/// <param name="Identity">Who the agent is.</param>
/// <param name="Grant">How the agent was admitted; null without a token or certificate.</param>
internal readonly record struct AdmissionResult(RejectMessage? Reject, string Name, AgentIdentity Identity, AgentGrant? Grant)
{
    /// <summary>Whether the name is a domain whose owner has to want it.</summary>
    public bool NeedsProof { get; init; }
}

/// <summary>Decides whether an agent may have the name it wants. Thread-safe.</summary>
internal sealed class AgentAdmission
{
    private static readonly TimeSpan _again = TimeSpan.FromSeconds(2);

    private readonly ProxyEntrySettings _settings;
    private readonly AgentRegistry _agents;
    private readonly FailedAttempts _failures;
    private readonly TimeProvider _time;
    private readonly TokenUses? _uses;
    private readonly IssuedTokens? _tokens;

    public AgentAdmission(
        ProxyEntrySettings settings, AgentRegistry agents, FailedAttempts failures, TimeProvider time, TokenUses? uses = null,
        IssuedTokens? tokens = null)
    {
        _tokens = tokens;
        _time = time;
        _uses = uses;
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
        var claimsAnIdentity = hello.ProofKind != TokenProofKind.None || peer.Certificate is not null;
        if (agent is null && (claimsAnIdentity || peer.NeedsToken || !_settings.AnonymousAgentsAllowed))
        {
            _failures.Note(peer.Address);
            if (hello.ProofKind == TokenProofKind.Bearer && _tokens?.Trouble is not null)
            {
                // Another node may have made the token: a final refusal would end an agent that is right.
                return Refuse(RejectCode.Overloaded, "The cluster's database cannot be asked for the token.", _again);
            }

            return Refuse(RejectCode.Unauthorized, "The token or certificate is missing or not accepted.");
        }

        if (agent?.Expires is { } expires && expires <= _time.GetUtcNow())
        {
            // Only who has the token learns that it was right once.
            _failures.Note(peer.Address);
            return Refuse(
                RejectCode.TokenExpired,
                string.Create(CultureInfo.InvariantCulture, $"The token expired at {expires.UtcDateTime:yyyy-MM-dd HH:mm:ss}Z."));
        }

        var name = hello.WantedName.Length == 0 ? RandomName.Create() : hello.WantedName.ToLowerInvariant();
        if (FindMistake(hello, name) is { } mistake)
        {
            return Refuse(RejectCode.InvalidName, mistake);
        }

        if (!agents.MayClaim(agent, name))
        {
            return Refuse(
                RejectCode.NameNotAllowed,
                DomainName.IsMeant(name)
                    ? "The token may not claim the domain: the server's settings have to list it among the agent's Names."
                    : "The name is reserved, or the token may not claim it.");
        }

        var identity = agent is null ? AgentIdentity.OfInstance(hello.InstanceKey.Span) : AgentIdentity.OfToken(agent.Id);
        var grant = agent is null ? null
            : hello.ProofKind == TokenProofKind.Bearer ? new AgentGrant(agent.Id, agent.TokenHash, null) { TokenName = agent.TokenName }
            : new AgentGrant(agent.Id, null, peer.Certificate);
        if (grant?.TokenName is { } token)
        {
            _uses?.Note(token);
        }

        return new AdmissionResult(null, name, identity, grant) { NeedsProof = agents.NeedsProof(agent, name) };
    }

    /// <summary>What is wrong with a name in lower case, as a sentence; null: nothing.</summary>
    private string? FindMistake(HelloMessage hello, string name)
    {
        if (!DomainName.IsMeant(name))
        {
            var problem = PublicName.Check(name, _settings.EntryId);
            return problem == PublicNameProblem.None ? null : PublicName.Describe(problem, _settings.EntryId);
        }

        return hello.Kind is SessionKind.Tcp or SessionKind.Udp
            ? "A public port has no domain."
            : DomainName.FindMistake(name, _settings.Domain);
    }

    private static AdmissionResult Refuse(RejectCode code, string text, TimeSpan wait = default) =>
        new(new RejectMessage(code, wait, text), "", default, null);
}
