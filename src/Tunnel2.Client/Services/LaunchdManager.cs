using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using System.Xml;

namespace Tunnel2.Client.Services;

/// <summary>launchd of macOS: a daemon of the machine, or an agent of a user's session.</summary>
internal sealed partial class LaunchdManager : IServiceManager
{
    /// <summary>A property list without it is another's, and is left alone.</summary>
    public const string Mark = "Made by 'tunnel2 service install'; 'tunnel2 service uninstall' removes it.";

    private readonly string _root;
    private readonly string? _home;

    /// <param name="root">What comes before every path of the machine; empty outside tests.</param>
    /// <param name="environment">Returns the value of an environment variable, or null.</param>
    public LaunchdManager(string root, Func<string, string?> environment)
    {
        _root = root;
        _home = environment("HOME") is { Length: > 0 } home && home[0] == '/' ? home.TrimEnd('/') : null;
    }

    /// <inheritdoc/>
    public string Name => "launchd";

    /// <inheritdoc/>
    public string? MistakeOf(ServiceDefinition service)
    {
        if (service.Id.IsOfUser && _home is null)
        {
            return "there is no place for a user's service: HOME is not set";
        }

        if (!service.Id.IsOfUser && service.RunAs is null)
        {
            return "a service of the machine would run as root: name an ordinary user with --run-as USER, or take --user";
        }

        foreach (string text in service.Program.Append(service.ConfigFile).Concat(service.Variables.Select(static pair => pair.Value)))
        {
            if (SystemdText.MistakeOf(text) is { } mistake)
            {
                return $"'{text}' {mistake}, which a property list cannot have";
            }
        }

        return null;
    }

    /// <inheritdoc/>
    public string Describe(ServiceDefinition service)
    {
        ServiceId id = service.Id;
        string[] words =
        [
            .. service.Program, "start", "--config", service.ConfigFile,
            .. service.Token is null ? [] : new[] { "--token-file", TokenFileOf(id) },
        ];
        using var text = new Utf8Writer();
        using (var xml = XmlWriter.Create(text, new XmlWriterSettings { Indent = true, NewLineChars = "\n" }))
        {
            xml.WriteStartDocument();
            xml.WriteDocType("plist", "-//Apple//DTD PLIST 1.0//EN", "http://www.apple.com/DTDs/PropertyList-1.0.dtd", null);
            xml.WriteComment($" {Mark} ");
            xml.WriteStartElement("plist");
            xml.WriteAttributeString("version", "1.0");
            xml.WriteStartElement("dict");
            Write(xml, "Label", LabelOf(id));
            xml.WriteElementString("key", "ProgramArguments");
            xml.WriteStartElement("array");
            foreach (string word in words)
            {
                xml.WriteElementString("string", word);
            }

            xml.WriteEndElement();
            if (service.Variables.Count > 0)
            {
                xml.WriteElementString("key", "EnvironmentVariables");
                xml.WriteStartElement("dict");
                foreach (var (name, value) in service.Variables)
                {
                    Write(xml, name, value);
                }

                xml.WriteEndElement();
            }

            if (service.RunAs is { } user && !id.IsOfUser)
            {
                Write(xml, "UserName", user);
            }

            Write(xml, "RunAtLoad", true);

            // Started again after every end that is no stop; it waits longer each time that it ends at once.
            xml.WriteElementString("key", "KeepAlive");
            xml.WriteStartElement("dict");
            Write(xml, "SuccessfulExit", false);
            xml.WriteEndElement();
            Write(xml, "ThrottleInterval", 10);
            Write(xml, "ExitTimeOut", 40);
            Write(xml, "Umask", 63);
            Write(xml, "ProcessType", "Background");
            xml.WriteElementString("key", "SoftResourceLimits");
            xml.WriteStartElement("dict");
            Write(xml, "NumberOfFiles", 65_536);
            xml.WriteEndElement();
            Write(xml, "StandardOutPath", LogFileOf(id));
            Write(xml, "StandardErrorPath", LogFileOf(id));
            xml.WriteEndElement();
            xml.WriteEndElement();
        }

        return text.ToString() + "\n";
    }

    /// <inheritdoc/>
    public IReadOnlyList<ServiceStep> Install(ServiceDefinition service)
    {
        ServiceId id = service.Id;
        List<ServiceStep> steps =
        [
            new ServiceStep.Folder(Path.GetDirectoryName(FileOf(id))!),
            new ServiceStep.Folder(Path.GetDirectoryName(LogFileOf(id))!),
            service.Token is { } token
                ? new ServiceStep.Write(TokenFileOf(id), token + "\n", IsSecret: true)
                : new ServiceStep.Delete(TokenFileOf(id)),
        ];
        if (!id.IsOfUser)
        {
            // The process is no root, and has to read its token and to write its log.
            steps.Add(new ServiceStep.Write(LogFileOf(id), ""));
            steps.Add(new ServiceStep.Run(["chown", service.RunAs!, LogFileOf(id)]));
            if (service.Token is not null)
            {
                steps.Add(new ServiceStep.Run(["chown", service.RunAs!, TokenFileOf(id), Path.GetDirectoryName(TokenFileOf(id))!]));
            }
        }

        steps.Add(new ServiceStep.Run(["launchctl", "unload", FileOf(id)], MayFail: true));
        steps.Add(new ServiceStep.Write(FileOf(id), Describe(service)));
        steps.Add(new ServiceStep.Run(["launchctl", "load", "-w", FileOf(id)]));
        return steps;
    }

    /// <inheritdoc/>
    public IReadOnlyList<ServiceStep> Uninstall(ServiceId id) =>
    [
        new ServiceStep.Run(["launchctl", "unload", "-w", FileOf(id)], MayFail: true),
        new ServiceStep.Delete(FileOf(id)),
        new ServiceStep.Delete(TokenFileOf(id)),
    ];

    /// <inheritdoc/>
    string IServiceManager.FileOf(ServiceId id) => FileOf(id);

    /// <inheritdoc/>
    public IReadOnlyList<string> Query(ServiceId id) => ["launchctl", "list", LabelOf(id)];

    /// <inheritdoc/>
    public ServiceState? Read(int exitCode, string output)
    {
        if (exitCode != 0)
        {
            return ServiceState.None;
        }

        int? process = Number("PID");

        // The state of a wait: the exit code is in its second byte, the signal in the first.
        int? status = Number("LastExitStatus");
        return new ServiceState(true, process is null ? "stopped" : "running", process is not null)
        {
            StartsByItself = true,
            ProcessId = process,
            ExitCode = process is null && status is { } code ? (code & 0x7F) != 0 ? 128 + (code & 0x7F) : (code >> 8) & 0xFF : null,
        };

        int? Number(string name) => Entry().Matches(output).FirstOrDefault(match => match.Groups[1].Value == name) is { } found
            && int.TryParse(found.Groups[2].Value, NumberStyles.None, CultureInfo.InvariantCulture, out int number)
                ? number
                : null;
    }

    /// <inheritdoc/>
    public string? RuntimeFolderOf(ServiceId id) => null;

    /// <inheritdoc/>
    public IReadOnlyList<string>? Logs(ServiceId id, int lines, bool follow) => null;

    /// <inheritdoc/>
    string IServiceManager.LogFileOf(ServiceId id) => LogFileOf(id);

    /// <inheritdoc/>
    public string Note(ServiceId id) => $"Its log is {LogFileOf(id)}, which grows: newsyslog.conf limits it.";

    private static string LabelOf(ServiceId id) => id.Instance is null ? "dev.tunnel2.agent" : $"dev.tunnel2.agent.{id.Instance}";

    private static void Write(XmlWriter xml, string key, string value)
    {
        xml.WriteElementString("key", key);
        xml.WriteElementString("string", value);
    }

    private static void Write(XmlWriter xml, string key, int value)
    {
        xml.WriteElementString("key", key);
        xml.WriteElementString("integer", value.ToString(CultureInfo.InvariantCulture));
    }

    private static void Write(XmlWriter xml, string key, bool value)
    {
        xml.WriteElementString("key", key);
        xml.WriteElementString(value ? "true" : "false", null);
    }

    private string FileOf(ServiceId id) =>
        id.IsOfUser ? $"{_home}/Library/LaunchAgents/{LabelOf(id)}.plist" : $"{_root}/Library/LaunchDaemons/{LabelOf(id)}.plist";

    private string LogFileOf(ServiceId id) =>
        id.IsOfUser ? $"{_home}/Library/Logs/Tunnel2/{id.Name}.log" : $"{_root}/Library/Logs/Tunnel2/{id.Name}.log";

    private string TokenFileOf(ServiceId id) => id.IsOfUser
        ? $"{_home}/Library/Application Support/Tunnel2/{id.Name}/token"
        : $"{_root}/Library/Application Support/Tunnel2/{id.Name}/token";

    /// <summary>Such as <c>"PID" = 123;</c>.</summary>
    [GeneratedRegex("\"(\\w+)\" = (\\d+);")]
    private static partial Regex Entry();

    /// <summary>A text whose XML declaration says what the file is written in.</summary>
    private sealed class Utf8Writer() : StringWriter(CultureInfo.InvariantCulture)
    {
        public override Encoding Encoding => Encoding.UTF8;
    }
}
