using Tunnel2.Programs.Tests.Browser;
using Tunnel2.Programs.Tests.Cli;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.Programs.Tests.RealPeers;
using Tunnel2.Programs.Tests.Restarts;
using Xunit.Sdk;
using Xunit.v3;

[assembly: TestCollectionOrderer(typeof(LongestFirst))]

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>The classes that take longest start first, so that none of them runs alone at the end.</summary>
public sealed class LongestFirst : ITestCollectionOrderer
{
    private static readonly string[] _longest =
    [
        typeof(DashboardPageTests).FullName!, typeof(InspectorPageTests).FullName!, typeof(CommandProcessTests).FullName!,
        typeof(HeldUpRestartTests).FullName!, typeof(WebSocketOverHttp2Tests).FullName!, typeof(NodePeerTests).FullName!,
        typeof(DrainTests).FullName!, typeof(Connections.FewDescriptorsTests).FullName!, typeof(RealPeers.FewDescriptorsTests).FullName!,
        typeof(DeveloperToolTests).FullName!,
    ];

    /// <inheritdoc/>
    public IReadOnlyCollection<TTestCollection> OrderTestCollections<TTestCollection>(IReadOnlyCollection<TTestCollection> testCollections)
        where TTestCollection : ITestCollection =>
        [.. testCollections.OrderBy(static collection => RankOf(collection.TestCollectionDisplayName))];

    /// <summary>A class that is in no named collection is one by itself, in whose name its own is.</summary>
    private static int RankOf(string collection)
    {
        var rank = Array.FindIndex(_longest, name => collection.Contains(name + " ", StringComparison.Ordinal));
        return rank < 0 ? _longest.Length : rank;
    }
}
