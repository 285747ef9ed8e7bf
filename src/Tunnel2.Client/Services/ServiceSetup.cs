using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.TunnelFiles;

namespace Tunnel2.Client.Services;

/// <summary>
/// Makes a service of a file of tunnels: the same as <c>tunnel2 start</c> does here and now. What the environment or a login says is
/// given to the service where it can be, and refused where the service would come to something else.
/// </summary>
internal sealed class ServiceSetup
{
    private const string Server = "--server";
    private const string TokenVariable = "TUNNEL2_TOKEN";
    private const string TokenFileVariable = "TUNNEL2_TOKEN_FILE";

    private static readonly string[] _carried = [Server, "--server-fingerprint", "--server-ca"];

    /// <summary>What a service of the machine does not see: its system protects them, or gives it others.</summary>
    private static readonly string[] _hidden = ["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"];

    private readonly Func<string, string?> _environment;
    private readonly string _path;
    private readonly ServiceId _id;
    private readonly string? _runAs;
    private readonly List<string> _mistakes = [];

    private ServiceSetup(Func<string, string?> environment, string path, ServiceId id, string? runAs, string? tokenFile)
    {
        _environment = tokenFile is null
            ? environment
            : name => name switch
            {
                TokenFileVariable => Path.GetFullPath(tokenFile),
                TokenVariable => null,
                _ => environment(name),
            };
        _path = path;
        _id = id;
        _runAs = runAs;
    }

    /// <summary>Judges everything.</summary>
    /// <param name="environment">Returns the value of an environment variable, or null.</param>
    /// <param name="program">The program, and what comes before the agent's own words.</param>
    /// <param name="file">The file of tunnels.</param>
    /// <param name="id">Which service.</param>
    /// <param name="runAs">The user that it runs as, or null.</param>
    /// <param name="tokenFile">The file with the token, instead of what the environment says; null: none.</param>
    /// <returns>The service, or everything that is wrong, a line each.</returns>
    public static (ServiceDefinition? Service, IReadOnlyList<string> Mistakes) Make(
        Func<string, string?> environment, IReadOnlyList<string> program, string file, ServiceId id, string? runAs, string? tokenFile)
    {
        var setup = new ServiceSetup(environment, Path.GetFullPath(file), id, runAs, tokenFile);
        ServiceDefinition? service = setup.Make(program);
        return setup._mistakes.Count > 0 ? (null, setup._mistakes) : (service, []);
    }

    private ServiceDefinition? Make(IReadOnlyList<string> program)
    {
        if (_runAs is not null && (_id.IsOfUser || !IsUserName(_runAs)))
        {
            _mistakes.Add(_id.IsOfUser ? "--run-as: cannot go with --user" : "--run-as: is not the name of a user");
        }

        LookAtPlace(program[^1], "the program");
        LookAtPlace(_path, "the file of tunnels");
        var (text, problem) = TunnelFileLoader.TryReadText(_path);
        if (text is null)
        {
            _mistakes.Add(problem!);
            return null;
        }

        TunnelFileLoad here = TunnelFileLoader.Load(_path, text, new AgentOptionsInput(), _environment);
        _mistakes.AddRange(here.Mistakes.Select(static mistake => mistake.Message));
        if (_mistakes.Count > 0)
        {
            return null;
        }

        // The first tunnel that has it from elsewhere decides; what the others come to is compared below.
        var variables = new List<KeyValuePair<string, string>>();
        foreach (string flag in _carried)
        {
            if (here.Tunnels.FirstOrDefault(tunnel => IsFromElsewhere(tunnel, flag)) is { } tunnel)
            {
                string value = tunnel.Input[flag]!;
                variables.Add(new(VariableOf(flag), flag == "--server-ca" ? Path.GetFullPath(value) : value));
            }
        }

        string? token = here.Tunnels
            .FirstOrDefault(tunnel => IsFromElsewhere(tunnel, "--token") || IsFromElsewhere(tunnel, TokenFile.Flag))?.Options.Token;
        LookAtDifferences(here, text, variables, token);
        foreach (LoadedTunnel tunnel in here.Tunnels)
        {
            LookAtFiles(tunnel);
        }

        if (_environment("DOTNET_ROOT") is { Length: > 0 } runtime)
        {
            variables.Add(new("DOTNET_ROOT", runtime));
        }

        return new ServiceDefinition(_id, program, _path)
        {
            Variables = variables,
            Token = token,
            RunAs = _runAs,
            IsConfigReadable = IsReadableForAll(_path),
        };

        bool IsFromElsewhere(LoadedTunnel tunnel, string flag) => tunnel.Input[flag] is not null && !IsFromFile(tunnel, flag);
    }

    private static string VariableOf(string flag) => AgentSettingTable.All.First(setting => setting.Flag == flag).Variable!;

    private static bool IsUserName(string name) =>
        name.Length is > 0 and <= 32
        && (char.IsAsciiLetter(name[0]) || name[0] == '_')
        && name.All(static c => char.IsAsciiLetterOrDigit(c) || c is '_' or '-' or '.')
        && name != "root";

    /// <summary>Where a link leads; the path itself where it is none, or leads nowhere.</summary>
    private static string TargetOf(string path) =>
        File.Exists(path) ? File.ResolveLinkTarget(path, returnFinalTarget: true)?.FullName ?? path : path;

    private static bool IsReadableForAll(string path)
    {
        if (OperatingSystem.IsWindows())
        {
            return true;
        }

        string real = TargetOf(path);
        if ((File.GetUnixFileMode(real) & UnixFileMode.OtherRead) == 0)
        {
            return false;
        }

        for (string? folder = Path.GetDirectoryName(real); folder is { Length: > 0 }; folder = Path.GetDirectoryName(folder))
        {
            if ((File.GetUnixFileMode(folder) & UnixFileMode.OtherExecute) == 0)
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>Values of the file have its path and line as their origin; others a variable, or the login's file.</summary>
    private bool IsFromFile(LoadedTunnel tunnel, string flag) =>
        tunnel.Input.OriginOf(flag) is var origin
        && origin.StartsWith(_path + ":", StringComparison.Ordinal)
        && origin.Length > _path.Length + 1
        && char.IsAsciiDigit(origin[_path.Length + 1]);

    /// <summary>Reads the file as the service will, and compares.</summary>
    private void LookAtDifferences(
        TunnelFileLoad here, string text, List<KeyValuePair<string, string>> variables, string? token)
    {
        TunnelFileLoad there = TunnelFileLoader.Load(
            _path, text, new AgentOptionsInput(),
            name => name == TokenVariable ? token : variables.FirstOrDefault(pair => pair.Key == name).Value);
        _mistakes.AddRange(there.Mistakes.Select(static mistake => mistake.Message));
        foreach (var (one, other) in here.Tunnels.Zip(there.Tunnels))
        {
            string name = one.IsNamed ? one.Options.Name : one.Options.Upstream.ToString();
            var flags = one.Input.All.Concat(other.Input.All).Select(static value => value.Flag).Distinct()
                .Where(static flag => flag is not ("--token" or TokenFile.Flag or "--server-ca" or TunnelFileLoader.Flag));
            foreach (string flag in flags.Where(flag => one.Input[flag] != other.Input[flag]))
            {
                string origin = (one.Input[flag] is null ? other : one).Input.OriginOf(flag);
                _mistakes.Add($"tunnel {name}: {origin} counts here and would not for a service; write it into {_path}");
            }

            if (one.Options.Token != other.Options.Token)
            {
                _mistakes.Add($"tunnel {name}: would get another token as a service than here; write server and token into {_path}");
            }
        }
    }

    /// <summary>Files that a tunnel names: by their whole path, because a service has another folder, where it sees them.</summary>
    private void LookAtFiles(LoadedTunnel tunnel)
    {
        foreach (AgentSetting setting in AgentSettingTable.All.Where(static setting => setting.Value == "FILE"))
        {
            if (tunnel.Input[setting.Flag] is not { } file || !IsFromFile(tunnel, setting.Flag)
                || (setting.IsTable && PolicyOptionsParser.IsInline(file)))
            {
                continue;
            }

            if (Path.IsPathRooted(file))
            {
                LookAtPlace(file, tunnel.Input.OriginOf(setting.Flag));
            }
            else
            {
                _mistakes.Add($"{tunnel.Input.OriginOf(setting.Flag)}: '{file}' has to be a whole path for a service");
            }
        }
    }

    private void LookAtPlace(string path, string what)
    {
        if (_id.IsOfUser || OperatingSystem.IsWindows())
        {
            return;
        }

        string real = Path.GetFullPath(path);
        string[] places = [real, TargetOf(real)];
        string? hidden = _hidden.Where(folder => _runAs is null || folder.Contains("tmp", StringComparison.Ordinal))
            .FirstOrDefault(folder => places.Any(place => place.StartsWith(folder, StringComparison.Ordinal)));
        if (hidden is not null)
        {
            string instead = what == "the program" ? "/usr/local/bin" : "/etc/tunnel2";
            _mistakes.Add($"{what}: a service of the machine does not see {hidden} ({real}); put it into {instead}, or take --user");
        }
    }
}
