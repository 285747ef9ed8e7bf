using System.Globalization;
using System.Text;
using System.Text.Json;
using Tunnel2.Client.Administration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Commands;

/// <summary>
/// <c>tunnel2 token create</c>, <c>list</c> and <c>revoke NAME</c>: the tokens that a server keeps, by the API of its admin listener. A new
/// token is printed once, and stored nowhere.
/// </summary>
internal static class TokenCommand
{
    private const string Path = "tokens";
    private static readonly string[] _head = ["NAME", "AGENT", "NAMES", "TIER", "ENDS", "LAST USED", "SESSIONS"];

    /// <summary>Makes a token.</summary>
    public static async Task<int> CreateAsync(CommandConsole console, CancellationToken stop)
    {
        if (console.Line["--name"] is not { Length: > 0 } name)
        {
            return await console.MistakeAsync("--name: is missing; it says what the token is called");
        }

        DateTimeOffset? expires = null;
        if (console.Line["--expires"] is { } when && (expires = MomentText.Parse(when, console.Time.GetUtcNow())) is null)
        {
            return await console.MistakeAsync($"--expires: is {MomentText.Forms}");
        }

        return await CallAsync(console, HttpMethod.Post, Path, Write(console, name, expires), "token", Made, stop);
    }

    /// <summary>Lists the tokens.</summary>
    public static Task<int> ListAsync(CommandConsole console, CancellationToken stop) =>
        CallAsync(console, HttpMethod.Get, Path, null, Path, Table, stop);

    /// <summary>Revokes a token.</summary>
    public static async Task<int> RevokeAsync(CommandConsole console, CancellationToken stop) =>
        console.Line.Argument is not { Length: > 0 } name
            ? await console.MistakeAsync("say which token, as in 'tunnel2 token revoke ci'")
            : await CallAsync(
                console, HttpMethod.Delete, $"{Path}/{Uri.EscapeDataString(name)}", null, "name",
                static json => $"{Cell(AdminClient.Text(json, "name"))} is revoked; {Number(json, "sessionsEnded")} sessions were ended\n",
                stop);

    private static async Task<int> CallAsync(
        CommandConsole console,
        HttpMethod method,
        string path,
        ReadOnlyMemory<byte>? body,
        string member,
        Func<JsonElement, string> show,
        CancellationToken stop)
    {
        if (AdminTarget.Read(
            console.Line[AdminTarget.AddressFlag], console.Line[AdminTarget.TokenFileFlag], console.Environment, out string? mistake)
            is not { } target)
        {
            return await console.MistakeAsync(mistake!);
        }

        using var client = new AdminClient(target);
        AdminAnswer answer = await client.SendAsync(method, path, body, stop);
        if (answer.Problem is null && !answer.Json.TryGetProperty(member, out _))
        {
            // Other servers answer with JSON too: what they did not do must not look done.
            return await console.FailAsync($"what answers at {target} is no Tunnel2 server", AgentExitCode.ServerUnreachable);
        }

        return answer.Problem is { } problem
            ? await console.FailAsync(problem, answer.ExitCode)
            : await console.WriteAsync(console.IsJson
                ? PlainText.Clean(answer.Json.GetRawText(), int.MaxValue) + "\n"
                : show(answer.Json));
    }

    private static ReadOnlyMemory<byte> Write(CommandConsole console, string name, DateTimeOffset? expires)
    {
        using var text = new MemoryStream();
        using (var json = new Utf8JsonWriter(text))
        {
            json.WriteStartObject();
            json.WriteString("name", name);
            json.WriteStartArray("names");
            foreach (string one in (console.Line["--names"] ?? name).Split(
                ',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries))
            {
                json.WriteStringValue(one);
            }

            json.WriteEndArray();
            foreach (string member in (string[])["agent", "tier"])
            {
                if (console.Line[$"--{member}"] is { } value)
                {
                    json.WriteString(member, value);
                }
            }

            if (expires is { } end)
            {
                json.WriteString("expires", end);
            }

            json.WriteEndObject();
        }

        return text.ToArray();
    }

    private static string Made(JsonElement json)
    {
        JsonElement info = json.TryGetProperty("info", out JsonElement given) ? given : default;
        return "The token, shown this once; give it to the agent with 'tunnel2 login SERVER', or as TUNNEL2_TOKEN:\n\n"
            + $"  {Cell(AdminClient.Text(json, "token"))}\n\n"
            + $"The server keeps its hash. Agent {Cell(AdminClient.Text(info, "agent"))}, names {Names(info, ", ")}, "
            + $"tier {Cell(AdminClient.Text(info, "tier") ?? "unlimited")}, "
            + (Moment(info, "expires") is { } end ? $"until {end}.\n" : "without an end.\n");
    }

    private static string Table(JsonElement json)
    {
        var rows = new List<string[]> { _head };
        if (json.TryGetProperty(Path, out JsonElement tokens) && tokens.ValueKind == JsonValueKind.Array)
        {
            var objects = tokens.EnumerateArray().Where(static token => token.ValueKind == JsonValueKind.Object);
            rows.AddRange(objects.Select(static token => new[]
            {
                Cell(AdminClient.Text(token, "name")),
                Cell(AdminClient.Text(token, "agent")),
                Names(token, ","),
                Cell(AdminClient.Text(token, "tier") ?? "–"),
                token.TryGetProperty("expired", out JsonElement expired) && expired.ValueKind == JsonValueKind.True
                    ? "expired"
                    : Moment(token, "expires") ?? "never",
                Moment(token, "lastUsed") ?? "never",
                Number(token, "sessions"),
            }));
        }

        var text = new StringBuilder();
        int[] widths = [.. _head.Select((_, column) => rows.Max(row => row[column].Length))];
        foreach (string[] row in rows)
        {
            text.Append(string.Join("  ", row.Select((cell, column) => cell.PadRight(widths[column]))).TrimEnd()).Append('\n');
        }

        return text.ToString();
    }

    private static string Cell(string? text) => PlainText.Clean(text ?? "");

    private static string Names(JsonElement json, string between) =>
        json.ValueKind == JsonValueKind.Object && json.TryGetProperty("names", out JsonElement names)
        && names.ValueKind == JsonValueKind.Array
            ? Cell(string.Join(between, names.EnumerateArray().Select(static one => one.ToString())))
            : "";

    private static string Number(JsonElement json, string member) =>
        json.TryGetProperty(member, out JsonElement value) && value.ValueKind == JsonValueKind.Number && value.TryGetInt64(out long number)
            ? number.ToString(CultureInfo.InvariantCulture)
            : "0";

    private static string? Moment(JsonElement json, string member) =>
        json.ValueKind == JsonValueKind.Object && json.TryGetProperty(member, out JsonElement value)
        && value.ValueKind == JsonValueKind.String && value.TryGetDateTimeOffset(out DateTimeOffset moment)
            ? moment.UtcDateTime.ToString("u", CultureInfo.InvariantCulture)
            : null;
}
