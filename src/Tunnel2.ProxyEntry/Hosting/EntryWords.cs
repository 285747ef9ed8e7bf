using Tunnel2.Protocol;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>The words of <c>tunnel2-entry</c>'s commands: names the nearest right one for a wrong one. Pure.</summary>
internal static class EntryWords
{
    private const int LongestShown = 100;
    private const string Setting = "--Tunnel2:";

    private static readonly (string First, string[] Second)[] _commands =
    [
        ("token", ["create", "list", "revoke"]),
        ("sessions", ["list", "drain", "kick"]),
        ("policies", ["list", "show", "set", "remove"]),
        ("agents", ["list"]),
        ("requests", ["list"]),
        ("certificate", ["create", "list", "renew", "test"]),
        ("cluster", ["init", "status", "nodes", "drain"]),
        ("health", []),
        ("help", []),
        ("version", []),
    ];

    /// <summary>The commands that have two names: both forms mean the first one's command.</summary>
    private static readonly (string Name, string Other)[] _others =
    [
        ("token", "tokens"), ("sessions", "session"), ("policies", "policy"), ("agents", "agent"), ("requests", "request"),
        ("certificate", "certificates"),
    ];

    /// <summary>The names of all commands.</summary>
    public static IEnumerable<string> Commands =>
        _commands.Select(static command => command.First).Where(static name => name is not ("help" or "version"));

    /// <summary>All commands with their second words, such as <c>token create</c>.</summary>
    public static IEnumerable<string> Lines => _commands.SelectMany(static command =>
        command.Second.Length == 0 ? [command.First] : command.Second.Select(word => $"{command.First} {word}"));

    /// <summary>The same words with the command's own name, where it was given in the singular or the plural.</summary>
    public static string[] Named(string[] args)
    {
        var at = args is ["help", _, ..] ? 1 : 0;
        if (at < args.Length && Array.Find(_others, pair => pair.Other == args[at]) is { Name: { } name })
        {
            return [.. args[..at], name, .. args[(at + 1)..]];
        }

        return args;
    }

    /// <summary>The same words with <c>--option=value</c> of a command as two words. Settings stay as they are.</summary>
    public static string[] Separated(string[] args) => args is not [var first, ..] || first.StartsWith('-') ? args :
    [
        .. args.SelectMany(static word => word.StartsWith("--", StringComparison.Ordinal) && word.IndexOf('=') is > 2 and var at
            && !word.StartsWith(Setting, StringComparison.OrdinalIgnoreCase)
            ? [word[..at], word[(at + 1)..]]
            : new[] { word }),
    ];

    /// <summary>What is wrong with the words of the command; null: nothing, or it is none that is known.</summary>
    public static string? MistakeOf(string[] args)
    {
        if (args is not [var first, ..] || first.StartsWith('-'))
        {
            return null;
        }

        var (known, words) = Array.Find(_commands, command => command.First == first);
        if (known is null)
        {
            return NearestWord.Find(first, _commands.Select(static command => command.First)) is { } word
                ? $"'{PlainText.Clean(first, LongestShown)}' is not a command, did you mean '{word}'?"
                : null;
        }

        if (words.Length == 0 || (args.Length > 1 && words.Contains(args[1], StringComparer.Ordinal)))
        {
            return null;
        }

        // What begins with a dash is a flag whose command is missing.
        if (args.Length == 1 || args[1].StartsWith('-'))
        {
            return $"'{first}' needs one of these after it: {string.Join(", ", words)}";
        }

        var written = PlainText.Clean(args[1], LongestShown);
        return NearestWord.Find(args[1], words) is { } near
            ? $"'{first} {written}' is not a command, did you mean '{first} {near}'?"
            : $"'{first} {written}' is not a command; after '{first}' comes one of {string.Join(", ", words)}";
    }

    /// <summary>
    /// What is wrong with the words of the server, which are <c>--Tunnel2:Key=value</c> or the pair <c>--Tunnel2:Key value</c>; null:
    /// nothing. A key without its value would take the next key for it, or not count at all, as an empty variable of a script makes it.
    /// </summary>
    public static string? StrayIn(string[] args)
    {
        for (var i = 0; i < args.Length; i++)
        {
            var shown = PlainText.Clean(args[i], LongestShown);
            if (!args[i].StartsWith(Setting, StringComparison.OrdinalIgnoreCase))
            {
                return i == 0 && args is ["version", ..] ? "'version' takes nothing after it"
                    : i == 0 && args is ["help", var what, ..] && NearestWord.Find(what, Commands) is { } near
                    ? $"'{PlainText.Clean(what, LongestShown)}' is not a command, did you mean '{near}'?"
                    : i == 0 && args is ["help", ..] ? $"after 'help' comes one of the commands {string.Join(", ", Commands)}"
                    : args[i] == "help"
                    ? $"'help' comes first, and after it one of the commands {string.Join(", ", Commands)}"
                    : $"'{shown}' is neither a command nor a setting; settings are given as --Tunnel2:Key=value";
            }

            if (!args[i].Contains('=') && (++i == args.Length || args[i].StartsWith("--", StringComparison.Ordinal)))
            {
                return $"{shown} needs a value, as in {shown}=value";
            }
        }

        return null;
    }

    /// <summary>What is said about a word that a command does not know.</summary>
    /// <param name="word">The word; it is shown cut and without controls.</param>
    /// <param name="known">The options that it knows.</param>
    public static string Unknown(string word, params IEnumerable<string> known)
    {
        var shown = PlainText.Clean(word, LongestShown);
        return !word.StartsWith('-') ? $"'{shown}' is too much"
            : $"'{shown}' is not known" + (NearestWord.Find(word, known) is { } near ? $", did you mean '{near}'?" : "");
    }

    /// <summary>The lines after such a mistake.</summary>
    public static string UsageOf(string first) => first switch
    {
        "token" => EntryHelp.TokenUsage,
        "sessions" => EntryHelp.SessionsUsage,
        "policies" => EntryHelp.PoliciesUsage,
        "agents" => EntryHelp.AgentsUsage,
        "requests" => EntryHelp.RequestsUsage,
        "certificate" => EntryHelp.CertificateUsage,
        "cluster" => $"{EntryHelp.ClusterUsage}\n{EntryHelp.ClusterNodesUsage}",
        _ => EntryHelp.Usage,
    };
}
