namespace Tunnel2.Client.CommandLine;

/// <summary>The words of a command line, sorted by the table of commands. No value of it is judged yet.</summary>
internal sealed class ParsedLine
{
    private readonly Dictionary<string, string?> _values = [];

    /// <summary>The command; null: none was named, or there is no such command.</summary>
    public CommandSpec? Command { get; set; }

    /// <summary>The first word of a command that has two, where the second one is missing or unknown; null otherwise.</summary>
    public string? Group { get; set; }

    /// <summary>Whether <c>--help</c> is among the words.</summary>
    public bool WantsHelp { get; set; }

    /// <summary>Whether the first word is no command, which <see cref="Mistakes"/> says too.</summary>
    public bool HasUnknownCommand { get; set; }

    /// <summary>Whether <c>--version</c> is among the words.</summary>
    public bool WantsVersion { get; set; }

    /// <summary>What is neither a flag, nor a flag's value, nor the command.</summary>
    public List<string> Arguments { get; } = [];

    /// <summary>What is wrong with the form, in the order of the words; never a value.</summary>
    public List<string> Mistakes { get; } = [];

    /// <summary>The first argument, or null.</summary>
    public string? Argument => Arguments.Count > 0 ? Arguments[0] : null;

    /// <summary>The flags that were given.</summary>
    public IEnumerable<string> Flags => _values.Keys;

    /// <summary>The value of a flag; null: it was not given, or is a switch.</summary>
    public string? this[string flag] => _values.GetValueOrDefault(flag);

    /// <summary>Whether a flag was given.</summary>
    public bool Has(string flag) => _values.ContainsKey(flag);

    /// <summary>Keeps a flag.</summary>
    /// <returns>Whether it is the first of its name.</returns>
    public bool TryAdd(string flag, string? value) => _values.TryAdd(flag, value);

    /// <summary>Keeps a further value of a flag that may be given several times.</summary>
    public void Append(string flag, string value) =>
        _values[flag] = _values.GetValueOrDefault(flag) is { } former ? former + "\n" + value : value;
}
