using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Observability;

/// <summary>The command of docs/observability.md, where Debian's package <c>prometheus</c> is installed.</summary>
public sealed class PrometheusTests
{
    [Fact]
    public async Task The_rules_are_right_and_a_real_Prometheus_scrapes_a_running_server_with_the_token_for_metrics()
    {
        Assert.SkipUnless((await Shell.RunBashAsync("command -v promtool prometheus")).ExitCode == 0, "There is no prometheus here.");
        await using var entry = await EntryProcess.StartAsync("--Tunnel2:Admin:Token=s3cret", "--Tunnel2:Admin:MetricsToken=scrape");
        var result = await Shell.RunBashAsync(
            TimeSpan.FromSeconds(120), "TUNNEL2_METRICS_TOKEN=scrape \"$1\" \"$2\"",
            Path.Combine(RepositoryFolder.Path, "deploy", "prometheus", "check.sh"), entry.Admin.ToString());
        Assert.Contains("tunnel2_build_info 1", result.EnsureSuccess().Output, StringComparison.Ordinal);
        Assert.Contains("instance_kind:tunnel2_connections:use_ratio 0", result.Output, StringComparison.Ordinal);
    }
}
