using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.TunnelFiles;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Commands;

/// <summary><c>tunnel2 config check</c> and <c>config show</c>.</summary>
internal static class ConfigCommand
{
    /// <summary>What is shown instead of a secret.</summary>
    private const string Hidden = "(hidden)";

    private static readonly string[] _secrets = ["--token", "inspect-token", "--basic-auth"];

    /// <summary>The file of a line: its argument, <c>--config</c>, the variable or the default.</summary>
    public static string PathOf(CommandConsole console, out string? mistake)
    {
        string? flag = console.Line[TunnelFileLoader.Flag];
        mistake = flag is not null && console.Line.Argument is not null ? "--config: cannot go with a FILE; give one of them" : null;
        var input = new AgentOptionsInput().Give(TunnelFileLoader.Flag, console.Line.Argument ?? flag);
        return TunnelFileLoader.PathOf(input, console.Environment);
    }

    /// <summary>Reads and checks the file.</summary>
    public static TunnelFileLoad Load(CommandConsole console, string path)
    {
        var (text, problem) = TunnelFileLoader.TryReadText(path);
        return text is null
            ? new TunnelFileLoad([], [new TunnelFileMistake(0, problem!)])
            : TunnelFileLoader.Load(path, text, new AgentOptionsInput(), console.Environment);
    }

    /// <summary>Prints every mistake.</summary>
    public static async Task<int> CheckAsync(CommandConsole console)
    {
        string path = PathOf(console, out string? mistake);
        if (mistake is not null)
        {
            return await console.MistakeAsync(mistake);
        }

        TunnelFileLoad load = Load(console, path);
        int exitCode = load.Mistakes.Count == 0 ? AgentExitCode.Stopped : AgentExitCode.Usage;
        if (console.IsJson)
        {
            return await console.WriteJsonAsync(
                json =>
                {
                    json.WriteString("file", path);
                    json.WriteBoolean("ok", load.Mistakes.Count == 0);
                    json.WriteNumber("tunnels", load.Tunnels.Count);
                    json.WriteStartArray("mistakes");
                    foreach (TunnelFileMistake one in load.Mistakes)
                    {
                        json.WriteStartObject();
                        if (one.Line > 0)
                        {
                            json.WriteNumber("line", one.Line);
                        }

                        json.WriteString("message", one.Message);
                        json.WriteEndObject();
                    }

                    json.WriteEndArray();
                },
                exitCode);
        }

        foreach (TunnelFileMistake one in load.Mistakes)
        {
            await console.Error.WriteLineAsync($"tunnel2: {PlainText.Clean(one.Message)}");
        }

        return exitCode == AgentExitCode.Stopped
            ? await console.WriteAsync(PlainText.Clean($"{path}: no mistakes, tunnels: {load.Tunnels.Count}") + "\n")
            : exitCode;
    }

    /// <summary>Prints what each tunnel comes to, and where each value comes from.</summary>
    public static async Task<int> ShowAsync(CommandConsole console)
    {
        string path = PathOf(console, out string? mistake);
        if (mistake is not null)
        {
            return await console.MistakeAsync(mistake);
        }

        TunnelFileLoad load = Load(console, path);
        if (load.Mistakes.Count > 0)
        {
            foreach (TunnelFileMistake one in load.Mistakes)
            {
                await console.Error.WriteLineAsync($"tunnel2: {PlainText.Clean(one.Message)}");
            }

            return AgentExitCode.Usage;
        }

        if (console.IsJson)
        {
            return await console.WriteJsonAsync(json =>
            {
                json.WriteString("file", path);
                json.WriteStartArray("tunnels");
                foreach (LoadedTunnel tunnel in load.Tunnels)
                {
                    json.WriteStartObject();
                    foreach (var (name, text, _) in ValuesOf(tunnel))
                    {
                        json.WriteString(name.Replace('-', '_'), text);
                    }

                    json.WriteEndObject();
                }

                json.WriteEndArray();
            });
        }

        var lines = new StringBuilder();
        foreach (LoadedTunnel tunnel in load.Tunnels)
        {
            lines.Append(lines.Length > 0 ? "\n" : "").Append(tunnel.IsNamed ? tunnel.Options.Name : "(a random name)").Append('\n');
            foreach (var (name, text, origin) in ValuesOf(tunnel))
            {
                lines.Append(PlainText.Clean($"  {name + ":",-22}{text,-40}  # {origin}")).Append('\n');
            }
        }

        return await console.WriteAsync(lines.ToString());
    }

    /// <summary>The values of a tunnel, without secrets.</summary>
    private static IEnumerable<(string Name, string Text, string Origin)> ValuesOf(LoadedTunnel tunnel)
    {
        foreach (AgentSetting setting in AgentSettingTable.All)
        {
            if (tunnel.Input[setting.Flag] is { } text)
            {
                string origin = tunnel.Input.OriginOf(setting.Flag);
                string shown = setting.Flag == RouteOptionsParser.Flag ? RouteOptionsParser.Show(text)
                    : _secrets.Contains(setting.Flag) || (setting.IsTable && text is ['[' or '{', ..]) ? Hidden
                    : setting.Flag == "--verify-webhook" && text.IndexOf(':', StringComparison.Ordinal) is > 0 and var end
                        ? text[..(end + 1)] + Hidden
                    : setting.Flag == "--proxy" ? tunnel.Options.Proxy?.ToString() ?? "off"
                    : text.Replace("\n", ", ", StringComparison.Ordinal);
                yield return (setting.Name, shown, Place(origin, setting));
            }
        }

        if (tunnel.Input["--server"] is null)
        {
            yield return ("server", tunnel.Options.Server.ToString(), "default");
        }

        if (tunnel.Options.Proxy is { } proxy && tunnel.Input["--proxy"] is null)
        {
            yield return ("proxy", proxy.ToString(), ProxyOptionsParser.EnvironmentKey);
        }
    }

    /// <summary>The file and line, the variable, or the login's file.</summary>
    private static string Place(string origin, AgentSetting setting) =>
        origin.EndsWith($": {setting.Name}", StringComparison.Ordinal) ? origin[..^(setting.Name.Length + 2)] : origin;
}
