using Tunnel2.Client.Core.Console;

namespace Tunnel2.Client;

/// <summary>The one place that names the implementation behind <see cref="IAgentRunner"/>.</summary>
internal static class AgentRunnerFactory
{
    public static IAgentRunner Create() => throw new NotSupportedException("This build of tunnel2 has no session layer.");
}
