using System.Collections.Immutable;
using System.Globalization;
using System.Text.Json;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Tokens;

/// <summary>
/// A kept token as JSON. What the reader does not know it refuses: it could be a limit of the token that a later version keeps. Stateless.
/// </summary>
internal static class TokenFile
{
    private static readonly string[] _members = ["name", "agent", "names", "tier", "created", "expires", "hash"];

    /// <summary>The text in UTF-8.</summary>
    public static byte[] Write(StoredToken token)
    {
        using var output = new MemoryStream();
        using (var json = new Utf8JsonWriter(output, new JsonWriterOptions { Indented = true }))
        {
            json.WriteStartObject();
            json.WriteString("name"u8, token.Name);
            json.WriteString("agent"u8, token.Agent);
            json.WriteStartArray("names"u8);
            foreach (var name in token.Names)
            {
                json.WriteStringValue(name.ToString());
            }

            json.WriteEndArray();
            if (token.Tier is { } tier)
            {
                json.WriteString("tier"u8, tier);
            }

            json.WriteString("created"u8, Words(token.Created));
            if (token.Expires is { } expires)
            {
                json.WriteString("expires"u8, Words(expires));
            }

            json.WriteString("hash"u8, token.Hash.ToSetting());
            json.WriteEndObject();
        }

        return output.ToArray();
    }

    /// <summary>Reads it.</summary>
    /// <param name="text">The text in UTF-8.</param>
    /// <param name="name">The name that its file has.</param>
    /// <param name="reason">Why it cannot be used; never its content.</param>
    /// <returns>Null where it cannot be used.</returns>
    public static StoredToken? Read(ReadOnlyMemory<byte> text, string name, out string reason)
    {
        reason = "";
        try
        {
            using var document = JsonDocument.Parse(text, new JsonDocumentOptions { MaxDepth = 4, AllowDuplicateProperties = false });
            return Read(document.RootElement, name, out reason);
        }
        catch (Exception exception) when (exception is JsonException or InvalidOperationException or KeyNotFoundException)
        {
            reason = "it is not the JSON of a token";
            return null;
        }
    }

    private static StoredToken? Read(JsonElement root, string name, out string reason)
    {
        if (root.EnumerateObject().Any(static member => !_members.Contains(member.Name)))
        {
            reason = "it has a member that this version does not know";
            return null;
        }

        if (Text(root, "name") != name || !StoredToken.IsName(name))
        {
            reason = "its name is not that of its file";
            return null;
        }

        var names = ImmutableArray.CreateBuilder<NamePattern>();
        foreach (var item in root.GetProperty("names").EnumerateArray())
        {
            if (!NamePattern.TryParse(item.GetString() ?? "", out var pattern))
            {
                reason = "one of its names is none";
                return null;
            }

            names.Add(pattern!);
        }

        DateTimeOffset? expires = null;
        if (Text(root, "agent") is not { } agent || !StoredToken.IsAgentId(agent)
            || (Text(root, "tier") is { } tier && !TierEntry.IsName(tier))
            || names.Count is 0 or > StoredToken.MaxNames
            || Moment(root, "created") is not { } created
            || (root.TryGetProperty("expires", out _) && (expires = Moment(root, "expires")) is null)
            || !TokenHash.TryParse(Text(root, "hash"), out var hash))
        {
            reason = "a member of it is missing or wrong";
            return null;
        }

        reason = "";
        return new StoredToken
        {
            Name = name,
            Agent = agent,
            Names = names.ToImmutable(),
            Tier = Text(root, "tier"),
            Created = created,
            Expires = expires,
            Hash = hash!,
        };
    }

    private static string Words(DateTimeOffset moment) => moment.UtcDateTime.ToString("O", CultureInfo.InvariantCulture);

    private static string? Text(JsonElement root, string member) => root.TryGetProperty(member, out var value) ? value.GetString() : null;

    private static DateTimeOffset? Moment(JsonElement root, string member) => DateTimeOffset.TryParse(
        Text(root, member), CultureInfo.InvariantCulture, DateTimeStyles.RoundtripKind, out var moment) ? moment : null;
}
