using Tunnel2.Client.Core.Configuration;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Engine;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>What is particular about the tunnel of a test.</summary>
internal sealed record TunnelSetup
{
    /// <summary>Settings of the entry, <c>Key=value</c>.</summary>
    public string[] Settings { get; init; } = [];

    /// <summary>The entry's clock.</summary>
    public TimeProvider? EntryTime { get; init; }

    /// <summary>Changes the agent's options.</summary>
    public Func<AgentOptions, AgentOptions> Agent { get; init; } = static options => options;

    /// <summary>Whether a relay that can be cut is between agent and entry.</summary>
    public bool CanBeCut { get; init; }

    /// <summary>What the relay is like before the agent connects through it.</summary>
    public Action<CuttingProxy> Link { get; init; } = static _ => { };

    /// <summary>Whether the agent reports every request.</summary>
    public bool WantsRequests { get; init; }

    /// <summary>Events of errors that the test itself causes, such as a file that cannot be used.</summary>
    public int[] ExpectedErrors { get; init; } = [];

    /// <summary>The agent's clock.</summary>
    public TimeProvider? AgentTime { get; init; }

    /// <summary>The agent's engine; by default that of every test.</summary>
    public Func<IEngine> AgentEngine { get; init; } = static () => TestEngine.Create();

    /// <summary>How long the test's visitors wait in all: far longer than they do on a machine that has much else to do.</summary>
    public TimeSpan Patience { get; init; } = TimeSpan.FromSeconds(60);
}
