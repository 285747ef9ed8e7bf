using System.Text.Json;

namespace Tunnel2.Client.States;

/// <summary>What an agent says of itself. Immutable.</summary>
/// <param name="ProcessId">Its process.</param>
/// <param name="Version">Its version.</param>
/// <param name="Started">When it was started.</param>
/// <param name="Tunnels">Its tunnels.</param>
internal sealed record AgentReport(int ProcessId, string Version, DateTimeOffset Started, IReadOnlyList<TunnelReport> Tunnels)
{
    /// <summary>Writes it as an object.</summary>
    public void Write(Utf8JsonWriter json)
    {
        json.WriteStartObject();
        json.WriteNumber("pid", ProcessId);
        json.WriteString("version", Version);
        json.WriteString("started", Started);
        json.WriteStartArray("tunnels");
        foreach (TunnelReport tunnel in Tunnels)
        {
            json.WriteStartObject();
            json.WriteString("name", tunnel.Name);
            json.WriteString("kind", tunnel.Kind);
            json.WriteString("upstream", tunnel.Upstream);
            json.WriteString("server", tunnel.Server);
            json.WriteString("state", tunnel.State);
            json.WriteString("since", tunnel.Since);
            json.WriteStartArray("urls");
            foreach (string url in tunnel.Urls)
            {
                json.WriteStringValue(url);
            }

            json.WriteEndArray();
            if (tunnel.Servers.Count > 0)
            {
                json.WriteStartArray("servers");
                foreach (var (server, isConnected, why) in tunnel.Servers)
                {
                    json.WriteStartObject();
                    json.WriteString("server", server);
                    json.WriteBoolean("connected", isConnected);
                    if (why is not null)
                    {
                        json.WriteString("message", why);
                    }

                    json.WriteEndObject();
                }

                json.WriteEndArray();
            }

            if (tunnel.Message is { } message)
            {
                json.WriteString("message", message);
            }

            json.WriteBoolean("service_answers", tunnel.ServiceAnswers);
            if (tunnel.Routes.Count > 0)
            {
                json.WriteStartArray("routes");
                foreach (var (path, upstream) in tunnel.Routes)
                {
                    json.WriteStartObject();
                    json.WriteString("path", path);
                    json.WriteString("upstream", upstream);
                    json.WriteEndObject();
                }

                json.WriteEndArray();
            }

            json.WriteStartArray("down");
            foreach (string service in tunnel.Down)
            {
                json.WriteStringValue(service);
            }

            json.WriteEndArray();
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }

    /// <summary>Reads what <see cref="Write"/> has written.</summary>
    /// <exception cref="JsonException">It is something else.</exception>
    public static AgentReport Read(ReadOnlyMemory<byte> text)
    {
        try
        {
            using var json = JsonDocument.Parse(text, new JsonDocumentOptions { MaxDepth = 8 });
            JsonElement root = json.RootElement;
            return new AgentReport(
                root.GetProperty("pid").GetInt32(),
                Text(root, "version"),
                root.GetProperty("started").GetDateTimeOffset(),
                [.. root.GetProperty("tunnels").EnumerateArray().Select(ReadTunnel)]);
        }
        catch (Exception exception) when (exception is KeyNotFoundException or InvalidOperationException or FormatException)
        {
            throw new JsonException("It is not the state of an agent.", exception);
        }
    }

    private static TunnelReport ReadTunnel(JsonElement tunnel) => new(
        Text(tunnel, "name"), Text(tunnel, "kind"), Text(tunnel, "upstream"), Text(tunnel, "server"), Text(tunnel, "state"),
        tunnel.GetProperty("since").GetDateTimeOffset())
    {
        Urls = [.. tunnel.GetProperty("urls").EnumerateArray().Select(static url => url.GetString() ?? "")],
        Servers = tunnel.TryGetProperty("servers", out JsonElement servers)
            ?
            [
                .. servers.EnumerateArray().Select(static one => (
                    Text(one, "server"), one.GetProperty("connected").GetBoolean(),
                    one.TryGetProperty("message", out JsonElement why) ? why.GetString() : null)),
            ]
            : [],
        Message = tunnel.TryGetProperty("message", out JsonElement message) ? message.GetString() : null,
        Routes = tunnel.TryGetProperty("routes", out JsonElement routes)
            ? [.. routes.EnumerateArray().Select(static route => (Text(route, "path"), Text(route, "upstream")))]
            : [],

        // An agent of a version before this one names none.
        Down = tunnel.TryGetProperty("down", out JsonElement down)
            ? [.. down.EnumerateArray().Select(static service => service.GetString() ?? "")]
            : tunnel.GetProperty("service_answers").GetBoolean() ? []
            : [Text(tunnel, "upstream")],
    };

    private static string Text(JsonElement element, string name) => element.GetProperty(name).GetString() ?? "";
}
