using System.Text;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.States;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Commands;

/// <summary><c>tunnel2 status</c> and <c>tunnel2 ready</c>: what this user's running agents say of themselves.</summary>
internal static class StatusCommand
{
    /// <summary>Prints every tunnel.</summary>
    public static async Task<int> RunAsync(CommandConsole console, CancellationToken stop)
    {
        IReadOnlyList<AgentReport> agents = await StatusReader.ReadAsync(console.Environment, console.Time, stop);
        int exitCode = agents.Count > 0 ? AgentExitCode.Stopped : AgentExitCode.No;
        if (console.IsJson)
        {
            return await console.WriteJsonAsync(
                json =>
                {
                    json.WriteStartArray("agents");
                    foreach (AgentReport agent in agents)
                    {
                        agent.Write(json);
                    }

                    json.WriteEndArray();
                },
                exitCode);
        }

        var text = new StringBuilder();
        foreach (AgentReport agent in agents)
        {
            StatusText.Append(text, agent);
        }

        return await console.WriteAsync(agents.Count > 0 ? text.ToString() : "No agent of this user runs.\n", exitCode);
    }

    /// <summary>Says whether all tunnels are ready, or the one that is named.</summary>
    public static async Task<int> ReadyAsync(CommandConsole console, CancellationToken stop)
    {
        string? name = console.Line["--name"];
        IReadOnlyList<AgentReport> agents = await StatusReader.ReadAsync(console.Environment, console.Time, stop);
        TunnelReport[] meant =
        [
            .. agents.SelectMany(static agent => agent.Tunnels)
                .Where(tunnel => name is null || tunnel.Name.Equals(name, StringComparison.OrdinalIgnoreCase)),
        ];
        TunnelReport[] missing = [.. meant.Where(static tunnel => tunnel.State != TunnelReport.Ready)];
        bool isReady = meant.Length > 0 && missing.Length == 0;
        int exitCode = isReady ? AgentExitCode.Stopped : AgentExitCode.No;
        string words = isReady ? "ready"
            : agents.Count == 0 ? "no agent of this user runs"
            : meant.Length == 0 ? $"no tunnel has the name '{name}'"
            : $"not ready: {string.Join(", ", missing.Select(static tunnel => $"{tunnel.Name} ({tunnel.State})"))}";
        return console.IsJson
            ? await console.WriteJsonAsync(
                json =>
                {
                    json.WriteBoolean("ready", isReady);
                    json.WriteNumber("tunnels", meant.Length);
                    json.WriteString("message", words);
                },
                exitCode)
            : await console.WriteAsync(PlainText.Clean(words) + "\n", exitCode);
    }
}
