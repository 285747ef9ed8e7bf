namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>Why a command that asks a running server has failed: a line for people, without a secret.</summary>
/// <param name="message">The line.</param>
/// <param name="exitCode">The exit code: 1 where the server refuses or does not answer, 2 where the command line is wrong.</param>
internal sealed class ApiCommandException(string message, int exitCode = 1) : Exception(message)
{
    /// <summary>The exit code of the program.</summary>
    public int ExitCode => exitCode;
}
