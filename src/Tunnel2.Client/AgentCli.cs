using System.Text;
using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Live;

namespace Tunnel2.Client;

/// <summary>The program behind <c>tunnel2</c>: reads the command line, runs an agent until a signal, gives the exit code.</summary>
internal static class AgentCli
{
    /// <summary>Runs the program on the process's own console, environment and signals.</summary>
    public static async Task<int> RunAsync(string[] args)
    {
        // Not Console.Out: it flushes every line and takes over the terminal's settings. Flushed where lines are written and never disposed:
        // a last flush into a pipe that nobody reads would hold up the end of the process.
        var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false));
        var error = new StreamWriter(Console.OpenStandardError(), new UTF8Encoding(false)) { AutoFlush = true };
        using var signals = new StopSignals(Environment.Exit);
        return await RunAsync(args, Environment.GetEnvironmentVariable, AgentRunnerFactory.Create, output, error, signals.Token);
    }

    /// <summary>Runs the program on the given console and environment until <paramref name="stop"/>.</summary>
    internal static async Task<int> RunAsync(
        string[] args,
        Func<string, string?> environment,
        Func<IAgentRunner> createRunner,
        TextWriter output,
        TextWriter error,
        CancellationToken stop)
    {
        if (TapCommand.IsMeant(args))
        {
            return await TapCommand.RunAsync(args, output, error, stop);
        }

        CommandLineResult commandLine = new AgentCommandLine().Parse(args, environment);
        switch (commandLine.Request)
        {
            case CommandLineRequest.Help:
                await output.WriteAsync(HelpText.Help);
                await output.FlushAsync(CancellationToken.None);
                return AgentExitCode.Stopped;
            case CommandLineRequest.Version:
                await output.WriteLineAsync(HelpText.Version);
                await output.FlushAsync(CancellationToken.None);
                return AgentExitCode.Stopped;
            case CommandLineRequest.Run when commandLine.Options is { } options:
                return await RunAgentAsync(options, createRunner, output, error, stop);
            default:
                await error.WriteLineAsync($"tunnel2: {PlainText.Clean(commandLine.Mistake ?? "")}");
                await error.WriteLineAsync(HelpText.Usage);
                return AgentExitCode.Usage;
        }
    }

    private static async Task<int> RunAgentAsync(
        AgentOptions options,
        Func<IAgentRunner> createRunner,
        TextWriter output,
        TextWriter error,
        CancellationToken stop)
    {
        IAgentEventFormatter formatter = options.Json
            ? new JsonEventFormatter(options.Server)
            : new HumanEventFormatter(options.Server, options.Verbose);
        try
        {
            await using var events = new AgentEventWriter(formatter, output, TimeProvider.System, options.Verbose);
            return await createRunner().RunAsync(options, events, stop);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            return AgentExitCode.Stopped;
        }
        catch (Exception exception)
        {
            await error.WriteLineAsync($"tunnel2: internal error: {exception}");
            return AgentExitCode.InternalError;
        }
    }
}
