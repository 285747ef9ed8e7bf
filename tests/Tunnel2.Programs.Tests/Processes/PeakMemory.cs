using System.Globalization;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>The most resident memory that processes ever had.</summary>
internal static class PeakMemory
{
    private const long Megabyte = 1024 * 1024;

    /// <summary>In bytes, since the process started, from <c>/proc</c>.</summary>
    public static long Read(ProcessRunner process)
    {
        const string Field = "VmHWM:";
        var line = File.ReadLines($"/proc/{process.Id}/status").First(static line => line.StartsWith(Field, StringComparison.Ordinal));
        return long.Parse(line[Field.Length..].Replace("kB", "", StringComparison.Ordinal), CultureInfo.InvariantCulture) * 1024;
    }

    /// <summary>Fails the test if ProxyEntry or agent ever had more than <paramref name="megabytes"/>; writes down what they had.</summary>
    public static void AssertBelow(RealTunnel tunnel, int megabytes)
    {
        var entry = Read(tunnel.Entry.Runner);
        var agent = Read(tunnel.Agent);
        TestContext.Current.TestOutputHelper?.WriteLine($"peak memory: ProxyEntry {entry / Megabyte} MB, agent {agent / Megabyte} MB");
        Assert.InRange(entry, 1, megabytes * Megabyte);
        Assert.InRange(agent, 1, megabytes * Megabyte);
    }
}
