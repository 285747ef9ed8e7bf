using System.Globalization;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Cluster;

/// <summary>
/// Two cases of the fault suite, small and on loopback: three nodes, PostgreSQL and agents as processes.
/// <c>load-tests/cluster-faults/run.sh</c> has all of them at full size.
/// </summary>
[Collection(RealProcessesCollection.Name)]
public sealed class ClusterFaultTests
{
    [Theory]
    [InlineData("rolling", 8)]
    [InlineData("kill", 6)]
    public async Task What_is_promised_holds_while_nodes_are_restarted_and_killed(string name, int seconds)
    {
        Assert.SkipUnless(Directory.Exists("/usr/lib/postgresql"), "PostgreSQL is not installed (Debian's package postgresql).");
        await using var suite = BuiltPrograms.StartClusterFaults(
            name, "--loopback", "--rate", "50", "--seconds", seconds.ToString(CultureInfo.InvariantCulture));
        var code = await suite.WaitForExitAsync(TimeSpan.FromMinutes(4));
        Assert.True(code == 0, string.Join('\n', suite.Lines));
    }
}
