using System.Globalization;
using System.Text;

namespace Tunnel2.Client.Services;

/// <summary>systemd: a hardened unit of the machine, or one of a user. Needs systemd 247 for a token, because of its credentials.</summary>
internal sealed class SystemdManager : IServiceManager
{
    /// <summary>The first line of a unit. One without it is another's, and is left alone.</summary>
    public const string Mark = "# " + LaunchdManager.Mark;

    private const string Credentials = "${CREDENTIALS_DIRECTORY}";

    private static readonly string[] _ofUser = ["--user"];
    private static readonly string[] _follow = ["--follow"];

    private readonly string _root;
    private readonly string? _userFolder;

    /// <param name="root">What comes before every path of the machine; empty outside tests.</param>
    /// <param name="environment">Returns the value of an environment variable, or null.</param>
    public SystemdManager(string root, Func<string, string?> environment)
    {
        _root = root;
        _userFolder = environment("XDG_CONFIG_HOME") is { Length: > 0 } config && Path.IsPathRooted(config) ? config
            : environment("HOME") is { Length: > 0 } home && Path.IsPathRooted(home) ? Path.Combine(home, ".config")
            : null;
    }

    /// <inheritdoc/>
    public string Name => "systemd";

    /// <inheritdoc/>
    public string? MistakeOf(ServiceDefinition service)
    {
        if (service.Id.IsOfUser && _userFolder is null)
        {
            return "there is no place for a user's unit: HOME and XDG_CONFIG_HOME are not set";
        }

        var texts = service.Program.Append(service.ConfigFile).Concat(service.Variables.Select(static pair => pair.Value));
        foreach (string text in texts)
        {
            if (SystemdText.MistakeOf(text) is { } mistake)
            {
                return $"'{text}' {mistake}, which a unit cannot have";
            }
        }

        return !IsConfigDirect(service) && SystemdText.Rest(service.ConfigFile) is null
            ? $"'{service.ConfigFile}' ends with a character that a unit cannot have there: name the file otherwise"
            : null;
    }

    /// <inheritdoc/>
    public string Describe(ServiceDefinition service) => Unit(service);

    /// <inheritdoc/>
    public IReadOnlyList<ServiceStep> Install(ServiceDefinition service)
    {
        ServiceId id = service.Id;
        List<ServiceStep> steps = [new ServiceStep.Folder(Path.GetDirectoryName(FileOf(id))!)];
        steps.Add(service.Token is { } token
            ? new ServiceStep.Write(TokenFileOf(id), token + "\n", IsSecret: true)
            : new ServiceStep.Delete(TokenFileOf(id)));
        steps.Add(new ServiceStep.Write(FileOf(id), Unit(service)));
        steps.Add(Systemctl(id, "daemon-reload"));
        steps.Add(Systemctl(id, "enable", UnitOf(id)));
        steps.Add(Systemctl(id, "restart", UnitOf(id)));
        return steps;
    }

    /// <inheritdoc/>
    public IReadOnlyList<ServiceStep> Uninstall(ServiceId id) =>
    [
        Systemctl(id, "disable", "--now", UnitOf(id)),
        .. id.IsOfUser ? [] : new[] { Systemctl(id, "clean", "--what=state", UnitOf(id)) with { MayFail = true } },
        new ServiceStep.Delete(FileOf(id)),
        new ServiceStep.Delete(TokenFileOf(id)),
        Systemctl(id, "daemon-reload"),
        Systemctl(id, "reset-failed", UnitOf(id)) with { MayFail = true },
    ];

    /// <inheritdoc/>
    string IServiceManager.FileOf(ServiceId id) => FileOf(id);

    /// <inheritdoc/>
    public IReadOnlyList<string> Query(ServiceId id) => Systemctl(
        id, "show", UnitOf(id),
        "--property=LoadState,ActiveState,SubState,UnitFileState,MainPID,ExecMainCode,ExecMainStatus,NRestarts,StatusText").Words;

    /// <inheritdoc/>
    public ServiceState? Read(int exitCode, string output)
    {
        // It answers 0 for units that are not there, too.
        if (exitCode != 0)
        {
            return null;
        }

        var values = new Dictionary<string, string>();
        foreach (string line in output.Split('\n'))
        {
            if (line.Split('=', 2) is [var name, var value])
            {
                values.TryAdd(name, value.TrimEnd('\r'));
            }
        }

        if (values.GetValueOrDefault("LoadState") is null or "" or "not-found")
        {
            return ServiceState.None;
        }

        string active = values.GetValueOrDefault("ActiveState") ?? "unknown";
        bool hasEnded = Number("ExecMainCode") is > 0;
        return new ServiceState(true, active, active == "active")
        {
            StartsByItself = values.GetValueOrDefault("UnitFileState") is { Length: > 0 } file ? file is "enabled" : null,
            ProcessId = Number("MainPID") is > 0 and var process ? process : null,
            Restarts = Number("NRestarts"),
            ExitCode = hasEnded ? Number("ExecMainStatus") : null,
            Message = values.GetValueOrDefault("StatusText") is { Length: > 0 } text ? text : null,
        };

        int? Number(string name) =>
            int.TryParse(values.GetValueOrDefault(name), NumberStyles.None, CultureInfo.InvariantCulture, out int number) ? number : null;
    }

    /// <inheritdoc/>
    public string? RuntimeFolderOf(ServiceId id) => id.IsOfUser ? null : $"{_root}/run/{id.Name}";

    /// <inheritdoc/>
    public IReadOnlyList<string> Logs(ServiceId id, int lines, bool follow) =>
    [
        "journalctl", .. id.IsOfUser ? _ofUser : [], $"--unit={UnitOf(id)}", $"--lines={lines}", "--no-pager",
        .. follow ? _follow : [],
    ];

    /// <inheritdoc/>
    public string? LogFileOf(ServiceId id) => null;

    /// <inheritdoc/>
    public string Note(ServiceId id) =>
        id.IsOfUser ? "It ends with your last session; 'loginctl enable-linger' keeps it, and starts it with the machine." : "";

    /// <summary>Where the token is kept: a folder of the machine that only root can enter, or one of the user.</summary>
    public string TokenFileOf(ServiceId id) => id.IsOfUser
        ? Path.Combine(_userFolder!, "tunnel2", "services", id.Name + ".token")
        : $"{_root}/etc/tunnel2/credentials/{id.Name}.token";

    private static string UnitOf(ServiceId id) => id.Name + ".service";

    private static ServiceStep.Run Systemctl(ServiceId id, params string[] words) =>
        new(["systemctl", .. id.IsOfUser ? _ofUser : [], .. words]);

    /// <summary>Whether the process reads the file itself, and so sees its changes. Otherwise systemd reads it at the start.</summary>
    private static bool IsConfigDirect(ServiceDefinition service) =>
        service.IsConfigReadable || service.Id.IsOfUser || service.RunAs is not null;

    private string FileOf(ServiceId id) => id.IsOfUser
        ? Path.Combine(_userFolder!, "systemd", "user", UnitOf(id))
        : $"{_root}/etc/systemd/system/{UnitOf(id)}";

    private string Unit(ServiceDefinition service)
    {
        ServiceId id = service.Id;
        bool isDirect = IsConfigDirect(service);
        var command = service.Program.Select(static (word, i) => i == 0 ? SystemdText.Word(word) : SystemdText.Argument(word)).ToList();
        command.AddRange(["start", "--config", isDirect ? SystemdText.Argument(service.ConfigFile) : $"{Credentials}/tunnels.yml"]);
        if (service.Token is not null)
        {
            command.AddRange(["--token-file", id.IsOfUser ? SystemdText.Argument(TokenFileOf(id)) : $"{Credentials}/token"]);
        }

        var unit = new StringBuilder();
        unit.Append(Mark).Append('\n')
            .Append("# Changes belong into a drop-in: systemctl ").Append(id.IsOfUser ? "--user " : "").Append("edit ").Append(id.Name)
            .Append("\n[Unit]\nDescription=Tunnel2 agent").Append(id.Instance is null ? "" : $" {id.Instance}")
            .Append(id.IsOfUser ? "\n" : "\nWants=network-online.target\nAfter=network-online.target\n")
            .Append("# It is started again without end, after a second each time.\nStartLimitIntervalSec=0\n\n[Service]\nType=notify\n")
            .Append("ExecStart=").AppendJoin(' ', command).Append('\n');
        foreach (var (name, value) in service.Variables)
        {
            unit.Append("Environment=").Append(SystemdText.Word($"{name}={value}")).Append('\n');
        }

        if (!id.IsOfUser)
        {
            if (service.Token is not null)
            {
                unit.Append("LoadCredential=token:").Append(TokenFileOf(id)).Append('\n');
            }

            if (!isDirect)
            {
                unit.Append("# Not everyone may read the file, so systemd does: 'systemctl restart ").Append(id.Name)
                    .Append("' after a change of it.\nLoadCredential=tunnels.yml:").Append(SystemdText.Rest(service.ConfigFile))
                    .Append('\n');
            }
        }

        unit.Append(Common);
        if (!id.IsOfUser)
        {
            unit.Append(service.RunAs is { } user ? $"User={user}\nProtectHome=read-only\n" : "DynamicUser=yes\nProtectHome=yes\n")
                .Append("StateDirectory=").Append(id.Name).Append("\nStateDirectoryMode=0700\nRuntimeDirectory=").Append(id.Name)
                .Append("\nRuntimeDirectoryMode=0700\nEnvironment=XDG_STATE_HOME=/var/lib/").Append(id.Name)
                .Append(" XDG_RUNTIME_DIR=/run/").Append(id.Name).Append('\n')
                .Append(OfMachine);
        }

        return unit.Append("\n[Install]\nWantedBy=").Append(id.IsOfUser ? "default.target" : "multi-user.target").Append('\n').ToString();
    }

    /// <summary>What a user's unit can have too. Without MemoryDenyWriteExecute=, because the runtime compiles while it runs.</summary>
    private const string Common =
        """
        Restart=always
        RestartSec=1s
        # 2: the configuration is wrong. 3: the server refused, and trying again will not help.
        RestartPreventExitStatus=2 3
        # The process says every 10 s that it still serves.
        WatchdogSec=30s
        # At once: the runtime answers the usual SIGABRT late, and a dump would have the token in it.
        WatchdogSignal=SIGKILL
        KillSignal=SIGTERM
        TimeoutStopSec=40s
        LimitNOFILE=1048576
        Environment=DOTNET_EnableDiagnostics_Debugger=0 DOTNET_EnableDiagnostics_Profiler=0
        UMask=0077

        NoNewPrivileges=yes
        LockPersonality=yes
        RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
        RestrictNamespaces=yes
        RestrictRealtime=yes
        RestrictSUIDSGID=yes
        SystemCallArchitectures=native
        SystemCallFilter=@system-service
        SystemCallFilter=~@privileged
        SystemCallErrorNumber=EPERM

        """;

    private const string OfMachine =
        """
        CapabilityBoundingSet=
        ProtectSystem=strict
        PrivateTmp=yes
        PrivateDevices=yes
        ProtectClock=yes
        ProtectControlGroups=yes
        ProtectHostname=yes
        ProtectKernelLogs=yes
        ProtectKernelModules=yes
        ProtectKernelTunables=yes
        ProtectProc=invisible
        RemoveIPC=yes

        """;
}
