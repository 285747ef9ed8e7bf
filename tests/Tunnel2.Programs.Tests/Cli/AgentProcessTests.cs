using System.Diagnostics;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Cli;

/// <summary>The built program itself, for what only a process can show: its outputs and exit codes.</summary>
public sealed class AgentProcessTests
{
    private static async Task<(int ExitCode, string Output, string Error)> RunAsync(params string[] args)
    {
        var start = new ProcessStartInfo(
            Environment.ProcessPath is { } host && Path.GetFileNameWithoutExtension(host) == "dotnet" ? host : "dotnet")
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            UseShellExecute = false,
        };
        start.ArgumentList.Add(BuiltPrograms.AgentPath);
        foreach (string arg in args)
        {
            start.ArgumentList.Add(arg);
        }

        using Process process = Process.Start(start) ?? throw new InvalidOperationException("dotnet did not start");
        CancellationToken cancellationToken = TestContext.Current.CancellationToken;
        Task<string> output = process.StandardOutput.ReadToEndAsync(cancellationToken);
        Task<string> error = process.StandardError.ReadToEndAsync(cancellationToken);
        await process.WaitForExitAsync(cancellationToken);
        return (process.ExitCode, await output, await error);
    }

    [Fact]
    public async Task Version_goes_to_the_output_with_0()
    {
        (int exitCode, string output, string error) = await RunAsync("--version");

        Assert.Equal(0, exitCode);
        Assert.Matches("^tunnel2 [0-9]+\\.[0-9]+\\.[0-9]+", output);
        Assert.Empty(error);
    }

    [Fact]
    public async Task Help_goes_to_the_output_with_0()
    {
        (int exitCode, string output, string error) = await RunAsync("http", "--help");

        Assert.Equal(0, exitCode);
        Assert.Contains("tunnel2 http 3000", output, StringComparison.Ordinal);
        Assert.EndsWith("only with --exit-on-failure\n", output.ReplaceLineEndings("\n"), StringComparison.Ordinal);
        Assert.Empty(error);
    }

    [Fact]
    public async Task A_mistake_goes_to_the_error_output_with_2()
    {
        (int exitCode, string output, string error) = await RunAsync("http", "3000", "--token", "s3cret words", "--uplinks", "0");

        Assert.Equal(2, exitCode);
        Assert.Empty(output);
        string[] lines = error.ReplaceLineEndings("\n").Split('\n');
        Assert.StartsWith("tunnel2: --token: ", lines[0], StringComparison.Ordinal);
        Assert.StartsWith("Usage: ", lines[1], StringComparison.Ordinal);
        Assert.DoesNotContain("s3cret", error, StringComparison.Ordinal);
    }
}
