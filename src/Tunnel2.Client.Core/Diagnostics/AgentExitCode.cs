namespace Tunnel2.Client.Core.Diagnostics;

/// <summary>The exit codes of <c>tunnel2</c>. They are a contract with scripts and supervisors: never renumber.</summary>
public static class AgentExitCode
{
    /// <summary>Asked to stop (Ctrl+C, SIGTERM), and stopped.</summary>
    public const int Stopped = 0;

    /// <summary>A fault of the agent itself.</summary>
    public const int InternalError = 1;

    /// <summary>The command line is wrong.</summary>
    public const int Usage = 2;

    /// <summary>The server said no for good (token, name, version), or another agent took the name over.</summary>
    public const int Rejected = 3;

    /// <summary>The server cannot be reached, and <c>--exit-on-failure</c> was given.</summary>
    public const int ServerUnreachable = 4;

    /// <summary>The answer to a question is no: no agent runs, a tunnel is not ready, something is wrong.</summary>
    public const int No = 5;
}
