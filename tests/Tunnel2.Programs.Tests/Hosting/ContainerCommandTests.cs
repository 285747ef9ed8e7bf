using System.Runtime.Versioning;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Hosting;

/// <summary>The script by which <c>tunnel2-entry</c> is called in its container, with another program in place of <c>dotnet</c>.</summary>
[UnsupportedOSPlatform("windows")]
public sealed class ContainerCommandTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("made", "", "made", "of-metrics")]
    [InlineData("made", "own", "own", "of-metrics")]
    [InlineData("", "", "", "")]
    public async Task A_command_gets_the_tokens_that_the_state_folder_has(string kept, string given, string admin, string metrics)
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "a script of the shell");
        Directory.CreateDirectory(_folder["bin"]);
        Directory.CreateDirectory(_folder["state"]);
        string program = _folder["bin/dotnet"];
        await File.WriteAllTextAsync(
            program, "#!/bin/sh\necho \"$# $3|$Tunnel2__Admin__Token|${Tunnel2__Admin__MetricsToken:-}|\"\n",
            TestContext.Current.CancellationToken);
        File.SetUnixFileMode(program, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
        if (kept.Length > 0)
        {
            await File.WriteAllTextAsync(_folder["state/admin-token"], kept + "\n", TestContext.Current.CancellationToken);
            await File.WriteAllTextAsync(_folder["state/metrics-token"], "of-metrics\n", TestContext.Current.CancellationToken);
        }

        var variables = new Dictionary<string, string?>
        {
            ["PATH"] = $"{_folder["bin"]}:{Environment.GetEnvironmentVariable("PATH")}",
            ["TUNNEL2_STATE"] = _folder["state"],
            ["Tunnel2__Admin__Token"] = given,
        };
        await using ProcessRunner shell = ProcessRunner.Start(
            "/bin/sh", [Path.Combine(RepositoryFolder.Path, "deploy/docker/tunnel2-entry.sh"), "sessions", "a b"], variables);
        var (exitCode, output) = await Shell.FinishAsync(shell);
        Assert.Equal((0, $"3 a b|{admin}|{metrics}|"), (exitCode, output.Trim()));
    }
}
