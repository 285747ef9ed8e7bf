using System.Globalization;
using System.Text;
using System.Text.Json;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Services;
using Tunnel2.Client.States;
using Tunnel2.Client.TunnelFiles;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Commands;

/// <summary><c>tunnel2 service install|uninstall|status|logs</c>: the tunnels of a file as a service.</summary>
internal static class ServiceCommand
{
    private const int UsualLines = 100;
    private const int MostLines = 100_000;

    /// <summary>Runs one of the four.</summary>
    /// <param name="console">The console.</param>
    /// <param name="manager">The service manager; null: this machine has none that is known.</param>
    /// <param name="isAdministrator">Whether this user may change services of the machine.</param>
    /// <param name="stop">Ends it.</param>
    public static async Task<int> RunAsync(
        CommandConsole console, IServiceManager? manager, bool isAdministrator, CancellationToken stop)
    {
        string? instance = console.Line["--name"]?.ToLowerInvariant();
        if (ServiceId.MistakeOf(instance) is { } mistake)
        {
            return await console.MistakeAsync($"--name: {mistake}");
        }

        if (manager is null)
        {
            return await console.FailAsync("this system has no service manager that tunnel2 knows", AgentExitCode.InternalError);
        }

        var id = new ServiceId(instance, console.Line.Has("--user"));
        var services = new ServiceAdministrator(manager, console.Environment, console.Time);
        try
        {
            return console.Line.Command!.Name switch
            {
                "service install" => await InstallAsync(console, manager, services, id, isAdministrator, stop),
                "service uninstall" => await UninstallAsync(console, services, manager, id, isAdministrator, stop),
                "service status" => await StatusAsync(console, services, manager, id, stop),
                _ => await LogsAsync(console, services, id, stop),
            };
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return await console.FailAsync(exception.Message, AgentExitCode.InternalError);
        }
        catch (OperationCanceledException)
        {
            return await console.FailAsync("stopped", AgentExitCode.InternalError);
        }
    }

    private static async Task<int> InstallAsync(
        CommandConsole console, IServiceManager manager, ServiceAdministrator services, ServiceId id, bool isAdministrator,
        CancellationToken stop)
    {
        var flags = new AgentOptionsInput().Give(TunnelFileLoader.Flag, console.Line[TunnelFileLoader.Flag]);
        var (service, mistakes) = ServiceSetup.Make(
            console.Environment, ServiceManagers.ThisProgram(), TunnelFileLoader.PathOf(flags, console.Environment), id,
            console.Line["--run-as"], console.Line[TokenFile.Flag]);
        if (service is not null && manager.MistakeOf(service) is { } mistake)
        {
            mistakes = [mistake];
        }

        if (mistakes.Count > 0)
        {
            foreach (string one in mistakes)
            {
                await console.Error.WriteLineAsync($"tunnel2: {PlainText.Clean(one)}");
            }

            return AgentExitCode.Usage;
        }

        if (console.Line.Has("--dry-run"))
        {
            string unit = manager.Describe(service!);
            return console.IsJson
                ? await ReportAsync(console, id, "installed", isDone: false, json => json.WriteString("text", unit))
                : await console.WriteAsync(unit);
        }

        if (NeedsRights(id, isAdministrator) is { } needs)
        {
            return await console.FailAsync(needs, AgentExitCode.InternalError);
        }

        if (await services.InstallAsync(service!, stop) is { } problem)
        {
            return await console.FailAsync(
                $"{problem} ({Line("status", id)} and {Line("logs", id)} say more)", AgentExitCode.InternalError);
        }

        if (console.IsJson)
        {
            return await ReportAsync(console, id, "installed", isDone: true, json => json.WriteString("file", service!.ConfigFile));
        }

        string note = manager.Note(id);
        return await console.WriteAsync(PlainText.Clean(
            $"{id.Name} is installed and runs the tunnels of {service!.ConfigFile}. {Line("status", id)} shows them."
                + (note.Length == 0 ? "" : " " + note),
            1000) + "\n");
    }

    private static async Task<int> UninstallAsync(
        CommandConsole console, ServiceAdministrator services, IServiceManager manager, ServiceId id, bool isAdministrator,
        CancellationToken stop)
    {
        var (state, problem) = manager.FileOf(id) is { } file
            ? (File.Exists(file) ? new ServiceState(true, "", false) : ServiceState.None, null)
            : await services.ReadAsync(id, stop);
        if (state is null)
        {
            return await console.FailAsync(problem!, AgentExitCode.InternalError);
        }

        if (!state.IsInstalled)
        {
            return console.IsJson
                ? await ReportAsync(console, id, "removed", isDone: false)
                : await console.WriteAsync($"{id.Name} is not installed.\n");
        }

        problem = NeedsRights(id, isAdministrator) ?? await services.UninstallAsync(id, stop);
        return problem is null && console.IsJson
            ? await ReportAsync(console, id, "removed", isDone: true)
            : problem is null
            ? await console.WriteAsync($"{id.Name} is stopped and removed. The file of tunnels is still there.\n")
            : await console.FailAsync(problem, AgentExitCode.InternalError);
    }

    private static async Task<int> StatusAsync(
        CommandConsole console, ServiceAdministrator services, IServiceManager manager, ServiceId id, CancellationToken stop)
    {
        var (found, problem) = await services.ReadAsync(id, stop);
        if (found is not { } state)
        {
            return await console.FailAsync(problem!, AgentExitCode.InternalError);
        }

        AgentReport? agent = state.IsRunning ? await services.ReadAgentAsync(id, state, stop) : null;
        int exitCode = state.IsRunning ? AgentExitCode.Stopped : AgentExitCode.No;
        if (console.IsJson)
        {
            return await console.WriteJsonAsync(
                json =>
                {
                    json.WriteString("name", id.Name);
                    json.WriteString("scope", id.Scope);
                    json.WriteString("manager", manager.Name);
                    json.WriteBoolean("installed", state.IsInstalled);
                    json.WriteBoolean("running", state.IsRunning);
                    json.WriteString("state", state.State);
                    Write("starts_by_itself", state.StartsByItself);
                    WriteNumber("pid", state.ProcessId);
                    WriteNumber("restarts", state.Restarts);
                    WriteNumber("exit_code", state.ExitCode);
                    json.WriteString("message", state.Message);
                    json.WritePropertyName("agent");
                    if (agent is null)
                    {
                        json.WriteNullValue();
                    }
                    else
                    {
                        agent.Write(json);
                    }

                    void WriteNumber(string name, int? value)
                    {
                        if (value is { } number)
                        {
                            json.WriteNumber(name, number);
                        }
                        else
                        {
                            json.WriteNull(name);
                        }
                    }

                    void Write(string name, bool? value)
                    {
                        if (value is { } isOn)
                        {
                            json.WriteBoolean(name, isOn);
                        }
                        else
                        {
                            json.WriteNull(name);
                        }
                    }
                },
                exitCode);
        }

        var text = new StringBuilder($"{id.Name} ({manager.Name}, {id.Scope}): {PlainText.Clean(state.State)}");
        text.Append(state.ProcessId is { } process ? string.Create(CultureInfo.InvariantCulture, $", process {process}") : "")
            .Append(state.Restarts is > 0 and var restarts
                ? string.Create(CultureInfo.InvariantCulture, $", started again {restarts} times")
                : "")
            .Append(state.StartsByItself == false ? ", does not start by itself" : "")
            .Append(!state.IsRunning && state.ExitCode is { } code ? ", ended with " + Meaning(code) : "")
            .Append('\n')
            .Append(state.Message is { } message ? PlainText.Clean($"  {message}") + "\n" : "");
        if (agent is not null)
        {
            StatusText.Append(text, agent);
        }

        return await console.WriteAsync(text.ToString(), exitCode);
    }

    private static async Task<int> LogsAsync(
        CommandConsole console, ServiceAdministrator services, ServiceId id, CancellationToken stop)
    {
        int lines = UsualLines;
        if (console.Line["--lines"] is { } given
            && (!int.TryParse(given, NumberStyles.None, CultureInfo.InvariantCulture, out lines) || lines is < 1 or > MostLines))
        {
            return await console.MistakeAsync($"--lines: '{given}' is not a number from 1 to {MostLines}");
        }

        await using TextWriter? objects = console.IsJson ? new LineObjectWriter(console) : null;
        return await services.PrintLogAsync(id, lines, console.Line.Has("--follow"), objects ?? console.Output, stop) is { } problem
            ? await console.FailAsync(problem, AgentExitCode.InternalError)
            : AgentExitCode.Stopped;
    }

    private static Task<int> ReportAsync(
        CommandConsole console, ServiceId id, string done, bool isDone, Action<Utf8JsonWriter>? write = null) =>
        console.WriteJsonAsync(json =>
        {
            json.WriteString("name", id.Name);
            json.WriteString("scope", id.Scope);
            json.WriteBoolean(done, isDone);
            write?.Invoke(json);
        });

    private static string? NeedsRights(ServiceId id, bool isAdministrator) =>
        id.IsOfUser || isAdministrator ? null
        : OperatingSystem.IsWindows() ? "a service needs an administrator's terminal"
        : "a service of the machine needs root: use sudo, or --user for a service of this user";

    private static string Meaning(int exitCode) => exitCode switch
    {
        AgentExitCode.Usage => "2: the file of tunnels or a setting is wrong",
        AgentExitCode.Rejected => "3: the server refused it for good, or another agent took its name",
        _ => exitCode.ToString(CultureInfo.InvariantCulture),
    };

    /// <summary>The command line of another of the commands for the same service.</summary>
    private static string Line(string word, ServiceId id) =>
        $"'tunnel2 service {word}{(id.Instance is null ? "" : $" --name {id.Instance}")}{(id.IsOfUser ? " --user" : "")}'";
}
