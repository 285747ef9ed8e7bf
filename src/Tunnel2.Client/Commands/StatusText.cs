using System.Globalization;
using System.Text;
using Tunnel2.Client.States;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Commands;

/// <summary>What an agent does, for people.</summary>
internal static class StatusText
{
    /// <summary>Appends an agent and its tunnels.</summary>
    public static void Append(StringBuilder text, AgentReport agent)
    {
        text.Append(CultureInfo.InvariantCulture, $"agent {agent.ProcessId}, version {agent.Version}, since {Show(agent.Started)}")
            .Append('\n');
        foreach (TunnelReport tunnel in agent.Tunnels)
        {
            text.Append(PlainText.Clean($"  {tunnel.Name,-20} {tunnel.State,-10} since {Show(tunnel.Since)}")).Append('\n');
            foreach (string url in tunnel.Urls)
            {
                text.Append(PlainText.Clean($"    {url} -> {tunnel.Upstream}")).Append('\n');
                foreach (var (path, upstream) in tunnel.Routes)
                {
                    text.Append(PlainText.Clean($"    {url}{path} -> {upstream}")).Append('\n');
                }
            }

            foreach (var (server, isConnected, why) in tunnel.Servers)
            {
                string state = isConnected ? "connected" : "not connected";
                text.Append(PlainText.Clean($"    server {server}: {state}{(why is null ? "" : $" ({why})")}")).Append('\n');
            }

            if (tunnel.Message is { } message)
            {
                text.Append(PlainText.Clean($"    {message}")).Append('\n');
            }

            foreach (string service in tunnel.Down)
            {
                text.Append(PlainText.Clean($"    nothing listens at {service}")).Append('\n');
            }
        }
    }

    private static string Show(DateTimeOffset time) =>
        time.ToUniversalTime().ToString("yyyy-MM-dd HH:mm:ss'Z'", CultureInfo.InvariantCulture);
}
