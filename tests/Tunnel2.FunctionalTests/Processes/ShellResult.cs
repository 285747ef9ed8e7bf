namespace Tunnel2.FunctionalTests.Processes;

/// <summary>How a program ended.</summary>
/// <param name="ExitCode">0 for success.</param>
/// <param name="Output">Both outputs, line by line as they came, without the last line end.</param>
internal sealed record ShellResult(int ExitCode, string Output)
{
    /// <summary>Fails the test with the output unless the program succeeded.</summary>
    public ShellResult EnsureSuccess()
    {
        Assert.True(ExitCode == 0, $"It ended with {ExitCode}:\n{Output}");
        return this;
    }
}
