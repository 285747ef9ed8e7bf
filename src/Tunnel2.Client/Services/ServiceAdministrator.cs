using Tunnel2.Client.States;

namespace Tunnel2.Client.Services;

/// <summary>What <c>tunnel2 service</c> does, with the machine's service manager.</summary>
internal sealed class ServiceAdministrator
{
    private readonly IServiceManager _manager;
    private readonly Func<string, string?> _environment;
    private readonly TimeProvider _time;

    public ServiceAdministrator(IServiceManager manager, Func<string, string?> environment, TimeProvider time)
    {
        _manager = manager;
        _environment = environment;
        _time = time;
    }

    /// <summary>Installs and starts a service.</summary>
    /// <returns>What went wrong; null: nothing.</returns>
    /// <exception cref="IOException">A file cannot be written.</exception>
    /// <exception cref="UnauthorizedAccessException">The user may not write it.</exception>
    public async Task<string?> InstallAsync(ServiceDefinition service, CancellationToken stop)
    {
        IReadOnlyList<ServiceStep> steps = _manager.Install(service);
        return ServicePlan.FindForeign(steps) is { } foreign
            ? $"{foreign} was not made by 'tunnel2 service install', and is left as it is"
            : await ServicePlan.RunAsync(steps, _environment, _time, stop);
    }

    /// <summary>Stops and removes a service.</summary>
    /// <returns>What went wrong; null: nothing.</returns>
    /// <exception cref="IOException">A file cannot be removed.</exception>
    /// <exception cref="UnauthorizedAccessException">The user may not remove it.</exception>
    public async Task<string?> UninstallAsync(ServiceId id, CancellationToken stop) =>
        _manager.FileOf(id) is { } file && !ServicePlan.IsOurs(file)
            ? $"{file} was not made by 'tunnel2 service install', and is left as it is"
            : await ServicePlan.RunAsync(_manager.Uninstall(id), _environment, _time, stop);

    /// <summary>Asks the manager for the state of a service.</summary>
    /// <returns>The state; or null and why there is none.</returns>
    public async Task<(ServiceState? State, string? Problem)> ReadAsync(ServiceId id, CancellationToken stop)
    {
        IReadOnlyList<string> query = _manager.Query(id);
        var (exitCode, output) = await ServiceProcess.RunAsync(query, _environment, _time, stop);
        return exitCode != ServiceProcess.NotFound && _manager.Read(exitCode, output) is { } state
            ? (state, null)
            : (null, $"'{string.Join(' ', query)}' ended with {exitCode}: {output.Trim().ReplaceLineEndings(" ")}");
    }

    /// <summary>Asks a running service's own process for its tunnels; null: it does not answer, or to other users.</summary>
    public async Task<AgentReport?> ReadAgentAsync(ServiceId id, ServiceState state, CancellationToken stop)
    {
        string? folder = _manager.RuntimeFolderOf(id);
        try
        {
            IReadOnlyList<AgentReport> agents = await StatusReader.ReadAsync(
                name => folder is null ? _environment(name) : name == "XDG_RUNTIME_DIR" ? folder : null, _time, stop);
            return agents.FirstOrDefault(agent => agent.ProcessId == state.ProcessId);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    /// <summary>Prints the log of a service.</summary>
    /// <returns>What went wrong; null: nothing.</returns>
    public async Task<string?> PrintLogAsync(ServiceId id, int lines, bool follow, TextWriter destination, CancellationToken stop)
    {
        if (_manager.Logs(id, lines, follow) is { } command)
        {
            var (exitCode, problem) = await ServiceProcess.CopyAsync(command, _environment, destination, stop);
            return exitCode == 0 ? null : $"'{string.Join(' ', command)}' ended with {exitCode}: {problem}";
        }

        string path = _manager.LogFileOf(id)!;
        try
        {
            await TailedFile.PrintAsync(path, lines, follow, destination, _time, stop);
            return null;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return $"{path} cannot be read: {exception.Message}";
        }
    }
}
