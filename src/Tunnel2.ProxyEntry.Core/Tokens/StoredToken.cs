using System.Collections.Immutable;
using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Tokens;

/// <summary>A token that the server keeps: its hash, and what it allows. Never the token itself. Immutable.</summary>
internal sealed record StoredToken
{
    /// <summary>The longest name, and the longest id of an agent.</summary>
    public const int MaxNameLength = 64;

    /// <summary>How many names and patterns a token has at most.</summary>
    public const int MaxNames = 20;

    /// <summary>What it is called; no two have one name.</summary>
    public required string Name { get; init; }

    /// <summary>The id of the agent, which owns the names.</summary>
    public required string Agent { get; init; }

    /// <summary>Names and patterns that it may claim; at least one.</summary>
    public required ImmutableArray<NamePattern> Names { get; init; }

    /// <summary>The tier; null: that of the agent of the settings with this id, or unlimited.</summary>
    public string? Tier { get; init; }

    /// <summary>When it was made.</summary>
    public required DateTimeOffset Created { get; init; }

    /// <summary>When it ends; null: never.</summary>
    public DateTimeOffset? Expires { get; init; }

    /// <summary>The hash of the token.</summary>
    public required TokenHash Hash { get; init; }

    /// <summary>Whether its time is over.</summary>
    public bool IsExpired(DateTimeOffset now) => Expires is { } end && end <= now;

    /// <summary>Whether both say the same, of the same token.</summary>
    public bool IsSameAs(StoredToken other) =>
        (Name, Agent, Tier, Created, Expires) == (other.Name, other.Agent, other.Tier, other.Created, other.Expires)
        && Names.Select(static pattern => pattern.ToString()).SequenceEqual(other.Names.Select(static pattern => pattern.ToString()))
        && Hash.IsSameAs(other.Hash);

    /// <summary>As the table of agents has it.</summary>
    public AgentSettings ToAgent(DateTimeOffset now) =>
        new(Agent, Hash, Names, Tier) { TokenName = Name, Expires = Expires, IsExpired = IsExpired(now) };

    /// <summary>
    /// Whether a text can be the name of a token: 1 to 64 of <c>[a-z0-9._-]</c>, the first a letter or a digit. It names a file.
    /// </summary>
    public static bool IsName(string text) =>
        text.Length is > 0 and <= MaxNameLength
        && IsPlain(text[0])
        && text.All(static c => IsPlain(c) || c is '.' or '_' or '-');

    /// <summary>Whether a text can be the id of an agent, as in the settings.</summary>
    public static bool IsAgentId(string text) =>
        text.Length is > 0 and <= MaxNameLength && text.All(static c => char.IsAsciiLetterOrDigit(c) || c is '.' or '_' or '-');

    private static bool IsPlain(char c) => char.IsAsciiLetterLower(c) || char.IsAsciiDigit(c);
}
