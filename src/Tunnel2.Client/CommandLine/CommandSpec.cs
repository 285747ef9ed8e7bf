namespace Tunnel2.Client.CommandLine;

/// <summary>One command: what parsing, help and the shells' completion know about it. Immutable.</summary>
/// <param name="Name">Its words, such as <c>http</c> or <c>config check</c>.</param>
/// <param name="Argument">What help writes for its argument; empty: it takes none.</param>
/// <param name="Summary">What it does, in one line.</param>
internal sealed record CommandSpec(string Name, string Argument, string Summary)
{
    /// <summary>Further lines of its help; empty, or ends with a line break.</summary>
    public string Text { get; init; } = "";

    /// <summary>Two command lines.</summary>
    public required string[] Examples { get; init; }

    /// <summary>Its own options.</summary>
    public CommandOption[] Options { get; init; } = [];

    /// <summary>Whether it runs tunnels, so that it takes the agent's settings.</summary>
    public bool RunsTunnels { get; init; }

    /// <summary>How many arguments it takes at most.</summary>
    public int MostArguments { get; init; } = 1;

    /// <summary>What its argument names.</summary>
    public ValueKind ArgumentKind { get; init; }

    /// <summary>The values that its argument may have; empty: any.</summary>
    public string[] ArgumentChoices { get; init; } = [];

    /// <summary>Its exit codes, beside 0 and 2.</summary>
    public int[] ExitCodes { get; init; } = [1];

    /// <summary>The first word.</summary>
    public string Group => Name.Split(' ')[0];

    /// <summary>The second word, or null.</summary>
    public string? Word => Name.Split(' ') is [_, var word] ? word : null;

    /// <summary>Such as <c>tunnel2 stats FILE [flags]</c>.</summary>
    public string Usage =>
        $"tunnel2 {Name}{(Argument.Length > 0 ? " " + Argument : "")}{(Options.Length > 0 || RunsTunnels ? " [flags]" : "")}";

    /// <summary>All options that it takes.</summary>
    public IEnumerable<CommandOption> AllOptions => RunsTunnels ? CommandTable.AgentOptions.Concat(Options) : Options;

    /// <summary>The options that help and completion show: not those that this command refuses.</summary>
    public IEnumerable<CommandOption> ShownOptions => AllOptions.Where(option => !CommandTable.IsRefused(this, option.Flag));
}
