using System.Buffers;
using System.Text;
using System.Text.Json;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// <c>tunnel2-entry token create --name web [--tier pro] [--json]</c>: prints a new token once, and the settings that hold its hash. It
/// stores nothing.
/// </summary>
internal static class TokenCommand
{
    private static readonly string[] _options =
        ["--name", "--tier", "--keep", "--agent", "--names", "--expires", "--admin", "--json"];

    public static bool IsMeant(string[] args) => args is ["token", ..];

    /// <summary>Runs the command.</summary>
    /// <returns>0, or 2 for a wrong command line.</returns>
    public static int Run(string[] args, TextWriter output, TextWriter error)
    {
        string? name = null;
        string? tier = null;
        var mistake = args is ["token", "create", ..] ? null : "only 'token create', 'token list' and 'token revoke' are known";
        var isJson = false;
        for (var i = 2; i < args.Length && mistake is null; i += args[i] == "--json" ? 1 : 2)
        {
            var value = i + 1 < args.Length && !args[i + 1].StartsWith("--", StringComparison.Ordinal) ? args[i + 1] : null;
            switch (args[i])
            {
                case "--name" when value is { Length: > 0 } && name is null:
                    name = value;
                    break;
                case "--tier" when value is { Length: > 0 } && tier is null:
                    tier = value;
                    break;
                case "--json" when !isJson:
                    isJson = true;
                    break;
                case "--agent" or "--names" or "--expires" or "--admin":
                    mistake = $"{args[i]} belongs to --keep, with which a running server keeps the token";
                    break;
                case "--name" or "--tier" or "--json":
                    mistake = value is { Length: > 0 } || args[i] == "--json" ? $"{args[i]} is given twice" : $"{args[i]} needs a value";
                    break;
                default:
                    mistake = EntryWords.Unknown(args[i], _options);
                    break;
            }
        }

        // The name becomes a part of settings' keys, so it has only characters that every source of settings can write.
        mistake ??= name is null
            ? "--name is missing"
            : name.All(static c => char.IsAsciiLetterOrDigit(c) || c == '-')
            ? null
            : "--name may have letters, digits and '-'";
        mistake ??= tier is null || TierEntry.IsName(tier) ? null : "--tier may have 1 to 32 of a-z, 0-9 and '-'";
        if (mistake is not null)
        {
            error.WriteLine($"tunnel2-entry: {mistake}");
            error.WriteLine(EntryHelp.TokenUsage);
            return SettingsErrorFormatter.ExitCode;
        }

        var token = TokenHash.CreateToken();
        List<(string Key, string Value)> settings =
            [($"Tunnel2__Agents__{name}__TokenHash", TokenHash.FromToken(token).ToSetting()), ($"Tunnel2__Agents__{name}__Names", name!)];
        if (tier is not null)
        {
            settings.Add(($"Tunnel2__Agents__{name}__Tier", tier));
        }

        if (isJson)
        {
            output.WriteLine(ToJson(token, settings));
            return 0;
        }

        output.WriteLine("The token, shown this once; give it to the agent as --token or TUNNEL2_TOKEN:");
        output.WriteLine();
        output.WriteLine($"  {token}");
        output.WriteLine();
        output.WriteLine("The settings of ProxyEntry that accept it (environment variables; in appsettings.json each '__' is a level):");
        output.WriteLine();
        foreach (var (key, value) in settings)
        {
            output.WriteLine($"  {key}={value}");
        }

        return 0;
    }

    private static string ToJson(string token, IEnumerable<(string Key, string Value)> settings)
    {
        var text = new ArrayBufferWriter<byte>();
        using (var json = new Utf8JsonWriter(text))
        {
            json.WriteStartObject();
            json.WriteString("token", token);
            json.WriteStartObject("settings");
            foreach (var (key, value) in settings)
            {
                json.WriteString(key, value);
            }

            json.WriteEndObject();
            json.WriteEndObject();
        }

        return Encoding.UTF8.GetString(text.WrittenSpan);
    }
}
