using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;

namespace Tunnel2.Client.Services;

/// <summary>
/// The service control manager of Windows: a service with an account of its own (<c>NT SERVICE\NAME</c>), which no other program has.
/// </summary>
internal sealed partial class WindowsManager : IServiceManager
{
    /// <summary>The variable by which the process knows that Windows has started it as a service, and under which name.</summary>
    public const string Variable = "TUNNEL2_WINDOWS_SERVICE";

    private const int NoSuchService = 1060;

    private readonly string _folder;

    /// <param name="environment">Returns the value of an environment variable, or null.</param>
    public WindowsManager(Func<string, string?> environment)
    {
        _folder = (environment("ProgramData") is { Length: > 0 } data ? data.TrimEnd('\\') : @"C:\ProgramData") + @"\Tunnel2";
    }

    /// <inheritdoc/>
    public string Name => "windows";

    /// <inheritdoc/>
    public string? MistakeOf(ServiceDefinition service)
    {
        if (service.Id.IsOfUser)
        {
            return "Windows has no services of users: leave out --user";
        }

        if (service.RunAs is not null)
        {
            return "on Windows the service has an account of its own: leave out --run-as";
        }

        foreach (string text in service.Program.Append(service.ConfigFile).Concat(service.Variables.Select(static pair => pair.Value)))
        {
            // Windows puts variables into a service's command line, and knows no way to write a % itself.
            string? mistake = SystemdText.MistakeOf(text)
                ?? (text.AsSpan().ContainsAny('%', '"') ? "has a % or a quote" : null);
            if (mistake is not null)
            {
                return $"'{text}' {mistake}, which the command line of a service cannot have";
            }
        }

        return null;
    }

    /// <inheritdoc/>
    public string Describe(ServiceDefinition service)
    {
        var text = new StringBuilder();
        foreach (ServiceStep step in Install(service))
        {
            text.Append(step switch
            {
                ServiceStep.Run run => CommandLine(run.Words),
                _ => $"rem {step}",
            }).Append('\n');
        }

        return text.ToString();
    }

    /// <inheritdoc/>
    public IReadOnlyList<ServiceStep> Install(ServiceDefinition service)
    {
        ServiceId id = service.Id;
        string account = $@"NT SERVICE\{id.Name}";
        string[] words =
        [
            .. service.Program, "start", "--config", service.ConfigFile,
            .. service.Token is null ? [] : new[] { "--token-file", TokenFileOf(id) },
        ];
        string variables = string.Join(
            @"\0", service.Variables.Append(new(Variable, id.Name)).Select(static pair => $"{pair.Key}={pair.Value}"));
        List<ServiceStep> steps =
        [
            // An older one of the name is replaced. Each step waits for the one before.
            new ServiceStep.Run(["sc.exe", "stop", id.Name], MayFail: true),
            new ServiceStep.Run(["sc.exe", "delete", id.Name], MayFail: true),
            new ServiceStep.Run(
            [
                "sc.exe", "create", id.Name, "binPath=", CommandLine(words), "start=", "auto", "obj=", account, "DisplayName=",
                $"Tunnel2 agent{(id.Instance is null ? "" : " " + id.Instance)}",
            ]),
            new ServiceStep.Run(["sc.exe", "sidtype", id.Name, "unrestricted"]),
            new ServiceStep.Run(["sc.exe", "privs", id.Name, "SeChangeNotifyPrivilege"]),
            new ServiceStep.Run(
                ["sc.exe", "failure", id.Name, "reset=", "86400", "actions=", "restart/1000/restart/5000/restart/30000"]),
            new ServiceStep.Run(["sc.exe", "failureflag", id.Name, "1"]),
            new ServiceStep.Run(
            [
                "reg.exe", "add", $@"HKLM\SYSTEM\CurrentControlSet\Services\{id.Name}", "/v", "Environment", "/t", "REG_MULTI_SZ", "/d",
                variables, "/f",
            ]),
            new ServiceStep.Folder(FolderOf(id)),
            new ServiceStep.Run(
            [
                "icacls.exe", FolderOf(id), "/inheritance:r", "/grant:r", "*S-1-5-18:(OI)(CI)F", "*S-1-5-32-544:(OI)(CI)F",
                $"{account}:(OI)(CI)M",
            ]),
        ];
        steps.Add(service.Token is { } token
            ? new ServiceStep.Write(TokenFileOf(id), token + "\n", IsSecret: true)
            : new ServiceStep.Delete(TokenFileOf(id)));
        steps.Add(new ServiceStep.Run(["sc.exe", "start", id.Name]));
        return steps;
    }

    /// <inheritdoc/>
    public IReadOnlyList<ServiceStep> Uninstall(ServiceId id) =>
    [
        new ServiceStep.Run(["sc.exe", "stop", id.Name], MayFail: true),
        new ServiceStep.Run(["sc.exe", "delete", id.Name]),
        new ServiceStep.Delete(TokenFileOf(id)),
    ];

    /// <inheritdoc/>
    public string? FileOf(ServiceId id) => null;

    /// <inheritdoc/>
    public IReadOnlyList<string> Query(ServiceId id) => ["sc.exe", "queryex", id.Name];

    /// <inheritdoc/>
    public ServiceState? Read(int exitCode, string output)
    {
        if (exitCode == NoSuchService)
        {
            return ServiceState.None;
        }

        if (exitCode != 0 || State().Match(output) is not { Success: true } found)
        {
            return null;
        }

        // The words are translated on some systems, the numbers are not: 4 is running.
        string word = found.Groups[2].Value.ToLowerInvariant();
        bool isRunning = found.Groups[1].Value == "4";
        return new ServiceState(true, word.Length > 0 ? word : found.Groups[1].Value, isRunning)
        {
            StartsByItself = true,
            ProcessId = Process().Match(output) is { Success: true } process
                && int.TryParse(process.Groups[1].Value, NumberStyles.None, CultureInfo.InvariantCulture, out int number) && number > 0
                    ? number
                    : null,
            ExitCode = !isRunning && LastExit().Match(output) is { Success: true } exit
                && int.TryParse(exit.Groups[1].Value, NumberStyles.None, CultureInfo.InvariantCulture, out int code)
                    ? code
                    : null,
        };
    }

    /// <inheritdoc/>
    public string? RuntimeFolderOf(ServiceId id) => null;

    /// <inheritdoc/>
    public IReadOnlyList<string>? Logs(ServiceId id, int lines, bool follow) => null;

    /// <inheritdoc/>
    string IServiceManager.LogFileOf(ServiceId id) => LogFileOf(id.Name);

    /// <inheritdoc/>
    public string Note(ServiceId id) => $"Its log is {LogFileOf(id.Name)}.";

    /// <summary>Where the process of a service writes its log.</summary>
    public string LogFileOf(string service) => $@"{_folder}\{service}\agent.log";

    /// <summary>
    /// Words as one command line, as programs of Windows read it: a word in quotes, and backslashes doubled where a quote follows.
    /// </summary>
    internal static string CommandLine(IEnumerable<string> words)
    {
        var line = new StringBuilder();
        foreach (string word in words)
        {
            line.Append(line.Length > 0 ? " " : "");
            if (word.Length > 0 && !word.Any(static c => char.IsWhiteSpace(c) || c == '"'))
            {
                line.Append(word);
                continue;
            }

            line.Append('"');
            int backslashes = 0;
            foreach (char c in word)
            {
                if (c == '\\')
                {
                    backslashes++;
                    continue;
                }

                line.Append('\\', c == '"' ? (2 * backslashes) + 1 : backslashes).Append(c);
                backslashes = 0;
            }

            line.Append('\\', 2 * backslashes).Append('"');
        }

        return line.ToString();
    }

    private string FolderOf(ServiceId id) => $@"{_folder}\{id.Name}";

    private string TokenFileOf(ServiceId id) => $@"{FolderOf(id)}\token";

    [GeneratedRegex(@"(?m)^\s*\S+\s*:\s*([1-7])\s+([A-Z_]+)")]
    private static partial Regex State();

    [GeneratedRegex(@"PID\s*:\s*(\d+)")]
    private static partial Regex Process();

    [GeneratedRegex(@"WIN32_EXIT_CODE\s*:\s*(\d+)")]
    private static partial Regex LastExit();
}
