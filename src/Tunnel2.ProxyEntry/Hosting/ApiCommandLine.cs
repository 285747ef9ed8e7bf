namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>The words of a command that asks a running server: names, options with and without a value, and settings. Immutable.</summary>
internal sealed class ApiCommandLine
{
    /// <summary>The option that names the server.</summary>
    public const string AdminOption = "--admin";

    /// <summary>The option for output that programs read.</summary>
    public const string JsonOption = "--json";

    private readonly Dictionary<string, string> _values = new(StringComparer.Ordinal);
    private readonly List<string> _names = [];
    private readonly List<string> _settings = [];

    private ApiCommandLine()
    {
    }

    /// <summary>The words that are neither options nor settings.</summary>
    public IReadOnlyList<string> Names => _names;

    /// <summary>Settings, as <c>--Tunnel2:Key=value</c>.</summary>
    public string[] Settings => [.. _settings];

    /// <summary>Whether the output is for programs.</summary>
    public bool IsJson => _values.ContainsKey(JsonOption);

    /// <summary>The value of an option; null where it is not given.</summary>
    public string? this[string option] => _values.GetValueOrDefault(option);

    /// <summary>Reads the words after the command.</summary>
    /// <param name="words">The words.</param>
    /// <param name="names">How many names there have to be.</param>
    /// <param name="options">The options with a value, beside <c>--admin</c>.</param>
    /// <param name="mistake">What is wrong; null where nothing is.</param>
    /// <param name="flags">The options without a value, beside <c>--json</c>.</param>
    /// <param name="what">What the name is of, for the mistake where it is missing.</param>
    public static ApiCommandLine Read(
        ReadOnlySpan<string> words,
        int names,
        ReadOnlySpan<string> options,
        out string? mistake,
        ReadOnlySpan<string> flags = default,
        string what = "a name")
    {
        var line = new ApiCommandLine();
        mistake = null;
        for (var i = 0; i < words.Length && mistake is null; i++)
        {
            var word = words[i];
            if (word.StartsWith("--Tunnel2:", StringComparison.OrdinalIgnoreCase) && word.Contains('=', StringComparison.Ordinal))
            {
                line._settings.Add(word);
            }
            else if (!word.StartsWith('-'))
            {
                line._names.Add(word);
            }
            else if (word == JsonOption || flags.Contains(word))
            {
                line._values[word] = "";
            }
            else if (word != AdminOption && !options.Contains(word))
            {
                string[] known = [AdminOption, JsonOption, .. options, .. flags];
                mistake = EntryWords.Unknown(word, known);
            }
            else if (i + 1 == words.Length || words[i + 1].StartsWith("--", StringComparison.Ordinal) || words[i + 1].Length == 0)
            {
                mistake = $"{word} needs a value";
            }
            else if (!line._values.TryAdd(word, words[++i]))
            {
                mistake = $"{word} is given twice";
            }
        }

        mistake ??= line._names.Count > names ? EntryWords.Unknown(line._names[names])
            : line._names.Count < names ? $"{what} is missing"
            : null;
        return line;
    }
}
