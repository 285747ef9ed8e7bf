using System.Collections.Immutable;
using System.Globalization;
using System.Net;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Reads a value from its text.</summary>
/// <returns>The mistake, as a sentence that begins with the value; null if there is none.</returns>
internal delegate string? SettingParser<T>(string text, out T value);

/// <summary>
/// Reads settings, one with each call, and collects their mistakes and their rows in the document. ConfigurationBinder would stop at the
/// first value that it cannot convert, and would ignore misspelt keys. One use per instance.
/// </summary>
internal sealed class SettingsReader
{
    private const string None = "–";
    private const string Empty = "is empty; give it a value or remove it.";
    private const string Group = "is a group of settings and takes no value itself.";

    private readonly IConfigurationSection _section;
    private readonly string _path = "";
    private readonly string _pattern = "";
    private readonly bool _mayChange;
    private readonly bool _refusesEmpty;
    private readonly Dictionary<string, string> _placeholders = new(StringComparer.OrdinalIgnoreCase);
    private readonly OrderedDictionary<string, SettingEntry> _entries;

    /// <summary>Reads section <c>Tunnel2</c>.</summary>
    /// <param name="configuration">The root configuration, not the section.</param>
    /// <param name="files">How many files the process may have open; null: not known.</param>
    public SettingsReader(IConfiguration configuration, int? files = null)
    {
        _section = configuration.GetSection(SettingKeys.Section);
        _entries = new(StringComparer.OrdinalIgnoreCase);
        Errors = [];
        Files = files;
    }

    private SettingsReader(
        SettingsReader parent, string name, IConfigurationSection section, string path, string pattern, List<SettingsError> errors,
        bool mayChange, bool refusesEmpty)
    {
        Name = name;
        _section = section;
        _path = path;
        _pattern = pattern;
        _mayChange = mayChange;
        _refusesEmpty = refusesEmpty;
        _entries = parent._entries;
        Errors = errors;
    }

    /// <summary>The name that the operator chose, for settings that exist once for each name.</summary>
    public string Name { get; } = "";

    /// <summary>How many files the process may have open; null: not known.</summary>
    public int? Files { get; }

    /// <summary>All mistakes, in the order in which they were found.</summary>
    public List<SettingsError> Errors { get; }

    /// <summary>Every setting that was read, in that order.</summary>
    public IList<SettingEntry> Entries => _entries.Values;

    /// <summary>Whether a setting has a mistake.</summary>
    public bool HasError(string path) => Errors.Exists(error => error.Key == FullKey(path));

    /// <summary>Adds a mistake. Of an empty setting nothing more is said, such as that it is missing.</summary>
    public void Report(string path, string message)
    {
        if (!Errors.Contains(new SettingsError(FullKey(path), Empty)))
        {
            Errors.Add(new SettingsError(FullKey(path), message));
        }
    }

    /// <summary>Whether a setting has a value.</summary>
    public bool IsGiven(string path) => !string.IsNullOrWhiteSpace(_section[path]);

    /// <summary>Whether a setting has a value, or is a list that has one.</summary>
    public bool HasValue(string path) => IsGiven(path) || _section.GetSection(path).GetChildren().Any();

    /// <summary>Reads a value of any kind; the other methods call this one with a parser.</summary>
    /// <param name="path">The key.</param>
    /// <param name="standard">The default, as text; null: there is none.</param>
    /// <param name="allowed">For the document.</param>
    /// <param name="words">For the document.</param>
    /// <param name="parse">Reads the text. Spaces around it were removed, unless it is secret.</param>
    /// <param name="inWords">The default in the document, if it is not the text of <paramref name="standard"/>.</param>
    /// <param name="isSecret">Whether messages must not show the value.</param>
    /// <param name="refusesEmpty">
    /// Whether an empty value is a mistake: a value that should be given must not be missing without notice.
    /// </param>
    public T Value<T>(
        string path,
        string? standard,
        string allowed,
        string words,
        SettingParser<T> parse,
        string? inWords = null,
        bool isSecret = false,
        bool refusesEmpty = false)
    {
        if (Find(path, inWords ?? (standard is null ? None : $"`{standard}`"), allowed, words, isSecret, refusesEmpty) is { } text)
        {
            if (parse(text, out var value) is not { } mistake)
            {
                return value;
            }

            Report(path, isSecret ? mistake : $"{SettingsErrorFormatter.Quote(text)} {mistake}");
        }

        var fallback = default(T)!;
        return standard is null || parse(standard, out fallback) is not { } fault
            ? fallback
            : throw new InvalidOperationException($"The default of {path} {fault}");
    }

    /// <summary>Any text; null if there is none.</summary>
    public string? Text(string path, string allowed, string words, string? inWords = null) =>
        Value<string?>(path, null, allowed, words, SettingValues.ParseText, inWords);

    /// <summary>A text that no message shows; null if there is none.</summary>
    public string? Secret(string path, string words) =>
        Value<string?>(path, null, "text; secret", words, SettingValues.ParseText, isSecret: true);

    /// <summary>True or false.</summary>
    public bool Switch(string path, bool standard, string words) =>
        Value<bool>(path, standard ? "true" : "false", "true, false", words, SettingValues.ParseSwitch);

    /// <summary>One of several words. A message about a mistake uses the noun for the kind of word.</summary>
    /// <returns>Its index among the words.</returns>
    public int Word(string path, string standard, string noun, string words, params string[] choices) =>
        Value(path, standard, string.Join(", ", choices), words, (string text, out int value) =>
        {
            value = Array.FindIndex(choices, choice => choice.Equals(text, StringComparison.OrdinalIgnoreCase));
            return value < 0 ? $"is not {noun}; use {string.Join(", ", choices[..^1])} or {choices[^1]}." : null;
        });

    /// <summary>A whole number.</summary>
    public int Number(string path, int standard, int least, int most, string words) =>
        Value(path, Plain(standard), Range(least, most), words, (string text, out int value) =>
            SettingValues.ParseNumber(text, least, most, out value));

    /// <summary>A whole number; null if there is none.</summary>
    public int? NumberOrNone(string path, int least, int most, string words, string inWords) =>
        Value(path, null, Range(least, most), words, (string text, out int? value) =>
        {
            var mistake = SettingValues.ParseNumber(text, least, most, out var number);
            value = number;
            return mistake;
        }, inWords);

    /// <summary>A whole number, or a word for which the result is null.</summary>
    /// <param name="path">The key.</param>
    /// <param name="word">The word that may be written instead of the number, and is the default: <c>auto</c> or <c>off</c>.</param>
    /// <param name="least">The smallest number.</param>
    /// <param name="most">The largest number.</param>
    /// <param name="words">For the document.</param>
    /// <param name="inWords">The default in the document, if it is not the word.</param>
    public long? NumberOr(string path, string word, long least, long most, string words, string? inWords = null) =>
        Value(path, word, $"{Range(least, most)}, {word}", words, (string text, out long? value) =>
            SettingValues.ParseNumberOr(text, word, least, most, out value), inWords);

    /// <summary>How many there may be at once; null for <c>auto</c>.</summary>
    public int? CountOrAuto(string path, string words) => (int?)NumberOr(path, "auto", 1, 1_000_000, words);

    /// <summary>A share of the whole, at most 1.</summary>
    public double Share(string path, double standard, bool mayBeZero, string words) =>
        Value(path, Plain(standard), mayBeZero ? "0 to 1" : "above 0, up to 1", words, (string text, out double value) =>
            SettingValues.ParseShare(text, mayBeZero, out value));

    /// <summary>A duration.</summary>
    public TimeSpan Duration(string path, string standard, string least, string most, string words) =>
        Value(path, standard, $"{least} to {most}", words, (string text, out TimeSpan value) =>
            SettingValues.ParseDuration(text, least, most, mayBeOff: false, out value));

    /// <summary>A duration, or <c>off</c>, which is <see cref="Timeout.InfiniteTimeSpan"/>.</summary>
    public TimeSpan DurationOrOff(string path, string standard, string least, string most, string words) =>
        Value(path, standard, $"{least} to {most}, off", words, (string text, out TimeSpan value) =>
            SettingValues.ParseDuration(text, least, most, mayBeOff: true, out value));

    /// <summary>The address of a listener.</summary>
    public IPEndPoint Listen(string path, string standard, string words) =>
        Value<IPEndPoint>(path, standard, "host:port", words, SettingValues.ParseListen);

    /// <summary>The address of a listener; null for <c>off</c>.</summary>
    public IPEndPoint? ListenOrOff(string path, string standard, string words) =>
        Value<IPEndPoint?>(path, standard, "host:port, off", words, SettingValues.ParseListenOrOff);

    /// <summary>An array, or one value with commas. The one value (environment, command line) replaces an array in a file.</summary>
    /// <param name="path">The key.</param>
    /// <param name="allowed">For the document.</param>
    /// <param name="words">For the document.</param>
    /// <param name="parse">Reads one text.</param>
    /// <param name="inWords">The default in the document.</param>
    /// <param name="isSecret">Whether messages must not show the values.</param>
    /// <param name="mayChange">Whether a change takes effect while the server runs.</param>
    public ImmutableArray<T> List<T>(
        string path, string allowed, string words, SettingParser<T> parse, string? inWords = null, bool isSecret = false,
        bool mayChange = false)
    {
        Describe(path, inWords ?? None, allowed, words, isList: true, mayChange);
        var children = _section.GetSection(path).GetChildren();
        if (children.Any(static child => child.GetChildren().Any()))
        {
            Report(path, "is a list of values, and one of them is a group or a list.");
            return [];
        }

        var texts = IsGiven(path)
            ? _section[path]!.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries)
            : children.Select(static child => child.Value?.Trim() ?? "");
        var values = ImmutableArray.CreateBuilder<T>();
        foreach (var text in texts)
        {
            if (parse(text, out var value) is { } mistake)
            {
                Report(path, isSecret ? mistake : $"{SettingsErrorFormatter.Quote(text)} {mistake}");
            }
            else
            {
                values.Add(value);
            }
        }

        if (_refusesEmpty && values.Count == 0 && _section[path] is not null && !HasError(path))
        {
            Report(path, Empty);
        }

        return values.ToImmutable();
    }

    /// <summary>
    /// Reads settings that exist once for each name that the operator chooses: <c>Agents:web:Tier</c>.
    /// </summary>
    /// <param name="group">The first part of the key.</param>
    /// <param name="placeholder">The text for the name in the document.</param>
    /// <param name="readOne">Reads the settings of a name.</param>
    /// <param name="mayChange">Whether a change takes effect while the server runs.</param>
    /// <param name="refusesEmpty">Whether an empty value is a mistake in all of them.</param>
    public IReadOnlyList<T> Named<T>(
        string group, string placeholder, Func<SettingsReader, T> readOne, bool mayChange = true, bool refusesEmpty = false)
    {
        _placeholders[group] = placeholder;
        var pattern = $"{group}:{placeholder}:";

        // If there is no name, this call still registers the keys of the group.
        readOne(new SettingsReader(this, placeholder, _section.GetSection(pattern), pattern, pattern, [], mayChange, refusesEmpty));
        var all = new List<T>();
        foreach (var one in _section.GetSection(group).GetChildren())
        {
            all.Add(readOne(new SettingsReader(this, one.Key, one, $"{group}:{one.Key}:", pattern, Errors, mayChange, refusesEmpty)));
        }

        return all;
    }

    /// <summary>Adds a mistake for each key that was not read, with the key that was probably meant. Called after all others.</summary>
    public void ReportUnknown()
    {
        var groups = new HashSet<string>(StringComparer.OrdinalIgnoreCase);
        foreach (var path in _entries.Keys)
        {
            for (var colon = path.IndexOf(':'); colon > 0; colon = path.IndexOf(':', colon + 1))
            {
                groups.Add(path[..colon]);
            }
        }

        if (_section.Value is not null)
        {
            // A variable of this name alone is taken for it, too.
            Errors.Add(new SettingsError(SettingKeys.Section, Group));
        }

        FindUnknown(_section, "", "", groups);
    }

    private void FindUnknown(IConfigurationSection parent, string path, string pattern, HashSet<string> groups)
    {
        foreach (var child in parent.GetChildren())
        {
            var childPath = path + child.Key;
            var childPattern = pattern + (pattern.Length > 0 ? _placeholders.GetValueOrDefault(pattern[..^1], child.Key) : child.Key);
            var isEntry = _entries.TryGetValue(childPattern, out var entry);
            if (isEntry && entry!.IsList)
            {
                continue;
            }

            if (!isEntry && !groups.Contains(childPattern))
            {
                ReportUnknown(child, childPath);
                continue;
            }

            // Also an empty one, which is an empty list in a file.
            if (!isEntry && child.Value is not null)
            {
                Report(childPath, Group);
            }

            FindUnknown(child, childPath + ":", childPattern + ":", groups);
        }
    }

    private void ReportUnknown(IConfigurationSection section, string path)
    {
        var children = section.GetChildren().ToArray();
        foreach (var child in children)
        {
            ReportUnknown(child, path + ":" + child.Key);
        }

        if (children.Length > 0 && section.Value is null)
        {
            return;
        }

        if (SettingKeys.Removed.TryGetValue(path, out var instead))
        {
            Report(path, instead);
            return;
        }

        // After a name that the operator chose, only keys of this group are possible.
        var parts = path.Split(':');
        var placeholder = parts.Length > 2 ? _placeholders.GetValueOrDefault(parts[0]) : null;
        var parent = placeholder is null ? "" : $"{parts[0]}:{parts[1]}:";
        var pattern = $"{parts[0]}:{placeholder}:";
        IEnumerable<string> known = placeholder is null
            ? [.. _entries.Keys.Where(static key => !key.Contains('<')), .. _placeholders.Keys]
            : _entries.Keys.Where(key => key.StartsWith(pattern, StringComparison.OrdinalIgnoreCase)).Select(key => key[pattern.Length..]);
        var suggestion = SpellingSuggestion.Find(path[parent.Length..], [.. known]);
        Report(path, suggestion is null
            ? $"unknown setting {FullKey(path)}."
            : $"unknown setting {FullKey(path)}, did you mean {FullKey(parent + suggestion)}?");
    }

    /// <summary>The text of a setting, without spaces around it unless it is secret; null if there is none.</summary>
    private string? Find(string path, string standard, string allowed, string words, bool isSecret, bool refusesEmpty)
    {
        Describe(path, standard, allowed, words, isList: false);
        var text = _section[path];
        if (!string.IsNullOrWhiteSpace(text))
        {
            return isSecret ? text : text.Trim();
        }

        if ((refusesEmpty || _refusesEmpty) && text is not null)
        {
            Report(path, Empty);
        }

        return null;
    }

    private void Describe(string path, string standard, string allowed, string words, bool isList, bool mayChange = false) =>
        _entries.TryAdd(_pattern + path, new SettingEntry(_pattern + path, standard, allowed, words, isList, _mayChange || mayChange));

    private string FullKey(string path) => $"{SettingKeys.Section}:{_path}{path}";

    private static string Plain(IFormattable number) => number.ToString(null, CultureInfo.InvariantCulture);

    private static string Range(long least, long most) => most == long.MaxValue
        ? string.Create(CultureInfo.InvariantCulture, $"{least:N0} or more")
        : string.Create(CultureInfo.InvariantCulture, $"{least:N0} to {most:N0}");
}
