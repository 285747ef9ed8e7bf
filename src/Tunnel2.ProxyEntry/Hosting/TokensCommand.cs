using System.Globalization;
using System.Text.Json;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Api.Documents;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// <c>tunnel2-entry token create --keep</c>, <c>list</c> and <c>revoke NAME</c>: the tokens that a running server keeps. Without
/// <c>--keep</c> a token is made for the settings (<see cref="TokenCommand"/>).
/// </summary>
internal static class TokensCommand
{
    private const string KeepOption = "--keep";
    private const string NameOption = "--name";
    private const string AgentOption = "--agent";
    private const string NamesOption = "--names";
    private const string TierOption = "--tier";
    private const string ExpiresOption = "--expires";

    public static bool IsMeant(string[] args) =>
        args is ["token", "list" or "revoke", ..] || (args is ["token", "create", ..] && args.Contains(KeepOption, StringComparer.Ordinal));

    /// <summary>Runs the command.</summary>
    /// <returns>0; 1 when the server refuses or does not answer; 2 for a wrong command line.</returns>
    public static Task<int> RunAsync(
        string[] args, TextWriter output, TextWriter error, Func<string, string?>? environment = null)
    {
        string? mistake;
        var words = args.AsSpan(2);
        CreateToken? wanted = null;
        var line = args[1] switch
        {
            "create" => ApiCommandLine.Read(
                words, 0, [NameOption, AgentOption, NamesOption, TierOption, ExpiresOption], out mistake, [KeepOption]),
            "revoke" => ApiCommandLine.Read(words, 1, [], out mistake),
            _ => ApiCommandLine.Read(words, 0, [], out mistake),
        };
        if (args[1] == "create" && mistake is null)
        {
            mistake = ReadToken(line, TimeProvider.System.GetUtcNow(), out wanted);
        }

        return ApiCommand.RunAsync(line, mistake, EntryHelp.TokenUsage, error, environment, client => args[1] switch
        {
            "create" => CreateAsync(client, wanted!, line.IsJson, output),
            "revoke" => RevokeAsync(client, line, output),
            _ => ListAsync(client, line.IsJson, output),
        });
    }

    private static string? ReadToken(ApiCommandLine line, DateTimeOffset now, out CreateToken? wanted)
    {
        wanted = null;
        if (line[NameOption] is not { } name)
        {
            return $"{NameOption} is missing";
        }

        DateTimeOffset? expires = null;
        if (line[ExpiresOption] is { } text && (expires = MomentText.Parse(text, now)) is null)
        {
            return $"{ExpiresOption} is {MomentText.Forms}";
        }

        wanted = new CreateToken
        {
            Name = name,
            Agent = line[AgentOption],
            Names = (line[NamesOption] ?? name).Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries),
            Tier = line[TierOption],
            Expires = expires,
        };
        return null;
    }

    private static async Task CreateAsync(EntryApiClient client, CreateToken wanted, bool isJson, TextWriter output)
    {
        var made = await client.SendAsync<NewToken>(HttpMethod.Post, "/tokens", wanted).ConfigureAwait(false);
        if (isJson)
        {
            await output.WriteLineAsync(JsonSerializer.Serialize(made, ApiJson.Answer<NewToken>())).ConfigureAwait(false);
            return;
        }

        await output.WriteLineAsync("The token, shown this once; give it to the agent as --token or TUNNEL2_TOKEN:").ConfigureAwait(false);
        await output.WriteLineAsync($"\n  {made.Token}\n").ConfigureAwait(false);
        await output.WriteLineAsync(
            $"The server keeps its hash. Agent {made.Info.Agent}, names {string.Join(", ", made.Info.Names)}, "
            + $"tier {made.Info.Tier ?? "unlimited"}, {EndOf(made.Info.Expires)}.").ConfigureAwait(false);
    }

    private static async Task RevokeAsync(EntryApiClient client, ApiCommandLine line, TextWriter output)
    {
        var path = "/tokens/" + Uri.EscapeDataString(line.Names[0]);
        var revoked = await client.SendAsync<RevokedToken>(HttpMethod.Delete, path).ConfigureAwait(false);
        await output.WriteLineAsync(line.IsJson
            ? JsonSerializer.Serialize(revoked, ApiJson.Answer<RevokedToken>())
            : FormattableString.Invariant($"{revoked.Name} is revoked; {revoked.SessionsEnded} sessions were ended")).ConfigureAwait(false);
    }

    private static async Task ListAsync(EntryApiClient client, bool isJson, TextWriter output)
    {
        var list = await client.SendAsync<TokenList>(HttpMethod.Get, "/tokens").ConfigureAwait(false);
        if (isJson)
        {
            await output.WriteLineAsync(JsonSerializer.Serialize(list, ApiJson.Answer<TokenList>())).ConfigureAwait(false);
            return;
        }

        TextTable.Write(
            output,
            ["NAME", "AGENT", "NAMES", "TIER", "ENDS", "LAST USED", "SESSIONS"],
            list.Tokens.Select(static token => new[]
            {
                token.Name,
                token.Agent,
                string.Join(',', token.Names),
                token.Tier ?? "–",
                token.Expired ? "expired" : token.Expires is { } end ? Words(end) : "never",
                token.LastUsed is { } used ? Words(used) : "never",
                token.Sessions.ToString(CultureInfo.InvariantCulture),
            }));
    }

    private static string EndOf(DateTimeOffset? expires) => expires is { } end ? $"until {Words(end)}" : "without an end";

    private static string Words(DateTimeOffset moment) => moment.UtcDateTime.ToString("u", CultureInfo.InvariantCulture);
}
