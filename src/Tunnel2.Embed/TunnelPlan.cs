using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Embed;

/// <summary>What a tunnel is to be.</summary>
/// <param name="Read">Reads its options; throws a <see cref="Tunnel2OptionsException"/>.</param>
/// <param name="FindObstacle">Says why it is not opened after the host has started, as the end of a sentence; null: it is.</param>
internal sealed record TunnelPlan(Func<TunnelSettings> Read, Func<string?> FindObstacle);

/// <summary>The options of a tunnel.</summary>
/// <param name="Agent">For the agent.</param>
/// <param name="StartRequiresTunnel">As the option of this name.</param>
internal sealed record TunnelSettings(AgentOptions Agent, bool StartRequiresTunnel);
