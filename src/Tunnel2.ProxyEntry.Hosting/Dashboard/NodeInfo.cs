using System.Reflection;
using System.Security.Cryptography;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>
/// What stays the same while this process runs, on <c>node.info</c>: which build of the page belongs to it, and the words for errors.
/// Published once. Stateless.
/// </summary>
internal static class NodeInfo
{
    /// <summary>Publishes it.</summary>
    /// <param name="hub">The hub.</param>
    /// <param name="entryId">The setting <c>EntryId</c>.</param>
    /// <param name="domain">The domain of public names.</param>
    /// <param name="engine">The engine's name; null when it is not known.</param>
    /// <param name="now">The time.</param>
    public static void Publish(Hub hub, string entryId, string domain, string? engine, DateTimeOffset now)
    {
        using var message = new HubMessageWriter();
        var json = message.Begin();
        json.WriteStartObject();
        json.WriteString("build"u8, DashboardFiles.Build);
        json.WriteString("version"u8, Version);

        // Another one after a restart, when the numbers of requests begin again.
        json.WriteString("process"u8, Convert.ToHexStringLower(RandomNumberGenerator.GetBytes(8)));
        json.WriteString("entry"u8, entryId);
        json.WriteString("domain"u8, domain);
        json.WriteString("engine"u8, engine);
        json.WriteNumber("processors"u8, Environment.ProcessorCount);
        json.WriteNumber("startedMs"u8, now.ToUnixTimeMilliseconds());
        json.WriteStartObject("errors"u8);
        foreach (var info in ProxyErrorCatalog.All)
        {
            json.WriteStartObject(info.Code);
            json.WriteString("leg"u8, info.LegName);
            json.WriteString("title"u8, info.Title);
            json.WriteString("detail"u8, info.Detail);
            if (info.IsRefusal)
            {
                json.WriteBoolean("refusal"u8, true);
            }

            json.WriteEndObject();
        }

        json.WriteEndObject();
        json.WriteEndObject();
        hub.Publish(hub.GetChannel("node.info"), "server", message.End());
    }

    private static string Version =>
        typeof(NodeInfo).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion ?? "";
}
