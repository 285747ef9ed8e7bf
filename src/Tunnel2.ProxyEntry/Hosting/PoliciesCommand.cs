using System.Globalization;
using System.Text.Json;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Api;
using Tunnel2.ProxyEntry.Api.Documents;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// <c>tunnel2-entry policies list</c>, <c>show</c>, <c>set FILE</c> and <c>remove</c>: the policies that a running server keeps for an
/// agent, a token or a name.
/// </summary>
internal static class PoliciesCommand
{
    private const string Path = "/policies";

    /// <summary>What a policy can be for, and where the API has it.</summary>
    private static readonly (string Option, string Segment)[] _scopes =
        [("--agent", "agents"), ("--token", "tokens"), ("--name", "names")];

    private static readonly JsonWriterOptions _indented = new() { Indented = true, NewLine = "\n" };

    public static bool IsMeant(string[] args) => args is ["policies", ..];

    /// <summary>Runs the command.</summary>
    /// <returns>0; 1 when the server refuses or does not answer, or the file cannot be read; 2 for a wrong command line.</returns>
    public static Task<int> RunAsync(
        string[] args, TextWriter output, TextWriter error, Func<string, string?>? environment = null)
    {
        var verb = args is [_, var given, ..] ? given : "";
        string? mistake = null;
        string[] options = [.. _scopes.Select(static scope => scope.Option)];
        var line = verb switch
        {
            "list" => ApiCommandLine.Read(args.AsSpan(2), 0, [], out mistake),
            "show" or "remove" => ApiCommandLine.Read(args.AsSpan(2), 0, options, out mistake),
            "set" => ApiCommandLine.Read(args.AsSpan(2), 1, options, out mistake, what: "the file with the policy"),
            _ => null,
        };
        var target = "";
        if (line is not null && verb != "list")
        {
            mistake ??= FindTarget(line, out target);
        }

        return ApiCommand.RunAsync(
            line,
            line is null ? "only 'policies list', 'policies show', 'policies set' and 'policies remove' are known" : mistake,
            EntryHelp.PoliciesUsage,
            error,
            environment,
            client => verb switch
            {
                "list" => ListAsync(client, line!.IsJson, output),
                "show" => ShowAsync(client, target, line!.IsJson, output),
                "set" => SetAsync(client, target, line!, output),
                _ => RemoveAsync(client, target, line!.IsJson, output),
            });
    }

    /// <summary>The path of what the policy is for. Exactly one option says it.</summary>
    private static string? FindTarget(ApiCommandLine line, out string target)
    {
        target = "";
        var given = Array.FindAll(_scopes, scope => line[scope.Option] is not null);
        if (given is not [var scope])
        {
            return "one of --agent ID, --token NAME and --name NAME says what the policy is for";
        }

        target = $"{Path}/{scope.Segment}/{Uri.EscapeDataString(line[scope.Option]!)}";
        return null;
    }

    private static async Task ListAsync(EntryApiClient client, bool isJson, TextWriter output)
    {
        var list = await client.SendAsync<PolicyList>(HttpMethod.Get, Path).ConfigureAwait(false);
        if (isJson)
        {
            await output.WriteLineAsync(JsonSerializer.Serialize(list, ApiJson.Answer<PolicyList>())).ConfigureAwait(false);
            return;
        }

        TextTable.Write(
            output,
            ["FOR", "NAME", "ROWS", "OF SETTINGS", "CHANGED", "SESSIONS", "PROBLEM"],
            list.Policies.Select(static policy => new[]
            {
                policy.Scope,
                policy.Name,
                policy.Rows.ToString(CultureInfo.InvariantCulture),
                policy.RowsOfSettings.ToString(CultureInfo.InvariantCulture),
                policy.Changed is { } changed ? changed.UtcDateTime.ToString("u", CultureInfo.InvariantCulture) : "–",
                policy.Sessions.ToString(CultureInfo.InvariantCulture),
                policy.Problem ?? "",
            }));
    }

    /// <summary>Prints what a file may have; <c>set</c> takes it again.</summary>
    private static async Task ShowAsync(EntryApiClient client, string target, bool isJson, TextWriter output)
    {
        var document = await client.SendAsync<PolicyDocument>(HttpMethod.Get, target).ConfigureAwait(false);
        if (isJson)
        {
            await output.WriteLineAsync(JsonSerializer.Serialize(document, ApiJson.Answer<PolicyDocument>())).ConfigureAwait(false);
            return;
        }

        if (document.Info.Problem is { } problem)
        {
            throw new ApiCommandException($"the policy cannot be used, and every request is refused: {PlainText.Clean(problem)}");
        }

        if (document.Policy is not { } rows)
        {
            throw new ApiCommandException("only the settings have a policy for it; --json shows it");
        }

        using var text = new MemoryStream();
        using (var json = new Utf8JsonWriter(text, _indented))
        {
            rows.WriteTo(json);
        }

        await output.WriteLineAsync(System.Text.Encoding.UTF8.GetString(text.GetBuffer(), 0, (int)text.Length)).ConfigureAwait(false);
    }

    private static async Task SetAsync(EntryApiClient client, string target, ApiCommandLine line, TextWriter output)
    {
        var document = await client.PutAsync<PolicyDocument>(target, await ReadAsync(line.Names[0]).ConfigureAwait(false))
            .ConfigureAwait(false);
        await output.WriteLineAsync(line.IsJson
            ? JsonSerializer.Serialize(document, ApiJson.Answer<PolicyDocument>())
            : FormattableString.Invariant(
                $"the policy of {document.Info.Scope} {document.Info.Name} is set; rows: {document.Info.Rows}, ")
                + FormattableString.Invariant($"sessions: {document.Info.Sessions}"))
            .ConfigureAwait(false);
    }

    private static async Task RemoveAsync(EntryApiClient client, string target, bool isJson, TextWriter output)
    {
        await client.SendAsync(HttpMethod.Delete, target).ConfigureAwait(false);
        await output.WriteLineAsync(isJson ? "{}" : "the policy is removed").ConfigureAwait(false);
    }

    /// <summary>One byte more than may be, so that the server's own words refuse a longer file.</summary>
    private static async Task<byte[]> ReadAsync(string path)
    {
        try
        {
            var file = File.OpenRead(path);
            await using (file.ConfigureAwait(false))
            {
                var buffer = new byte[PolicyRoutes.MaxBody + 1];
                var length = await file.ReadAtLeastAsync(buffer, buffer.Length, throwOnEndOfStream: false).ConfigureAwait(false);
                return buffer[..length];
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or ArgumentException)
        {
            throw new ApiCommandException($"{PlainText.Clean(path)} cannot be read: {FileFailure.Reason(path, exception)}");
        }
    }
}
