using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Inspecting;
using Tunnel2.Client.Live;
using Tunnel2.Client.Logins;
using Tunnel2.Client.Services;

namespace Tunnel2.Client.Commands;

/// <summary>Runs the commands that run no tunnel.</summary>
internal static class CommandRunner
{
    /// <summary>Runs the command of a line.</summary>
    /// <returns>The exit code.</returns>
    public static Task<int> RunAsync(CommandConsole console, CancellationToken stop)
    {
        // These have their own words for mistakes.
        switch (console.Line.Command!.Name)
        {
            case "tap" or "stats":
                return TapCommand.RunAsync(console.Words, console.Environment, console.Output, console.Error, stop);
            case "top":
                return TopCommand.RunAsync(console.Words, console.Environment, console.Output, console.Error, stop, console.OpenTerminal);
            case "inspect export":
                return ExportAsync(console, stop);
            case "help":
                return HelpAsync(console);
            default:
                break;
        }

        if (console.Line.Mistakes.Count > 0)
        {
            return console.MistakeAsync(string.Join("; ", console.Line.Mistakes));
        }

        return console.Line.Command.Name switch
        {
            "version" => VersionAsync(console),
            "hash-password" => HashPasswordCommand.RunAsync(console, stop),
            "completion" => CompletionAsync(console),
            "config check" => ConfigCommand.CheckAsync(console),
            "config show" => ConfigCommand.ShowAsync(console),
            "config edit" => ConfigEditCommand.RunAsync(console, stop),
            "login" => LoginCommand.RunAsync(console, stop),
            "logout" => LogoutAsync(console),
            "status" => StatusCommand.RunAsync(console, stop),
            "doctor" => DoctorCommand.RunAsync(console, stop),
            "policy test" => PolicyTestCommand.RunAsync(console),
            "token create" => TokenCommand.CreateAsync(console, stop),
            "token list" => TokenCommand.ListAsync(console, stop),
            "token revoke" => TokenCommand.RevokeAsync(console, stop),
            "ready" => StatusCommand.ReadyAsync(console, stop),
            "service install" or "service uninstall" or "service status" or "service logs" => ServiceCommand.RunAsync(
                console, ServiceManagers.OfThisMachine(console.Environment), Environment.IsPrivilegedProcess, stop),
            _ => throw new InvalidOperationException($"{console.Line.Command.Name} has no code."),
        };
    }

    private static async Task<int> ExportAsync(CommandConsole console, CancellationToken stop)
    {
        int exitCode = await InspectCommand.RunAsync(console.Words, console.Environment, console.Output, console.Error, stop);

        // What goes to the standard output is JSON already.
        return exitCode == AgentExitCode.Stopped && console.IsJson && console.Line["--har"] is not "-" and var file
            ? await console.WriteJsonAsync(json => json.WriteString("file", Path.GetFullPath(file!)))
            : exitCode;
    }

    private static Task<int> HelpAsync(CommandConsole console)
    {
        string topic = string.Join(' ', console.Line.Arguments);
        if (console.Line.Mistakes.Count == 0 && topic.Length == 0)
        {
            return console.WriteAsync(HelpText.Help);
        }

        ParsedLine about = CommandLineReader.Read(console.Line.Arguments);
        bool isAll = about.Command is { } command ? command.Name == topic : about.Group == topic;
        return console.Line.Mistakes.Count == 0 && isAll
            ? console.WriteAsync(HelpText.For(about))
            : console.MistakeAsync(
                console.Line.Mistakes.Count > 0 ? string.Join("; ", console.Line.Mistakes)
                : about.Mistakes.Count > 0 ? about.Mistakes[0]
                : $"'help' takes one of the commands: {string.Join(", ", CommandTable.Words)}");
    }

    private static Task<int> VersionAsync(CommandConsole console) => console.IsJson
        ? console.WriteJsonAsync(static json =>
        {
            json.WriteString("version", HelpText.VersionNumber);
            json.WriteString("runtime", Environment.Version.ToString());
            json.WriteString("system", System.Runtime.InteropServices.RuntimeInformation.RuntimeIdentifier);
        })
        : console.WriteAsync(HelpText.Version + "\n");

    private static Task<int> CompletionAsync(CommandConsole console) =>
        console.Line.Argument is { } shell && CompletionScript.For(shell) is { } script
            ? console.IsJson
                ? console.WriteJsonAsync(json =>
                {
                    json.WriteString("shell", shell);
                    json.WriteString("script", script);
                })
                : console.WriteAsync(script)
            : console.MistakeAsync("say for which shell: bash, zsh, fish or powershell");

    private static Task<int> LogoutAsync(CommandConsole console)
    {
        if (StoredLogin.PathFor(console.Environment) is not { } path || !File.Exists(path))
        {
            return ReportLogoutAsync(console, isRemoved: false, "There is no login.");
        }

        try
        {
            // A file that cannot be read may have had a token.
            bool hadToken = StoredLogin.TryRead(console.Environment, out _) is not { Token: null };
            File.Delete(path);
            return ReportLogoutAsync(console, isRemoved: true, hadToken
                ? "The login is removed. The server still knows the token: its operator can withdraw it."
                : "The login is removed. It had no token.");
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return console.FailAsync($"{path} cannot be removed: {exception.Message}", AgentExitCode.InternalError);
        }
    }

    private static Task<int> ReportLogoutAsync(CommandConsole console, bool isRemoved, string text) => console.IsJson
        ? console.WriteJsonAsync(json => json.WriteBoolean("removed", isRemoved))
        : console.WriteAsync(text + "\n");
}
