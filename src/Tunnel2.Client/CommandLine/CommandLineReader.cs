using Tunnel2.Protocol;

namespace Tunnel2.Client.CommandLine;

/// <summary>
/// Sorts the words of a command line by the table of commands: <c>--flag value</c>, <c>--flag=value</c>, <c>--flag:value</c>, flags before
/// and after the command, <c>--</c> before arguments that look like flags. Pure. It names flags and commands in its mistakes, and never the
/// word after a flag, which may be a secret that follows a misspelt one.
/// </summary>
internal sealed class CommandLineReader
{
    private readonly IReadOnlyList<string> _words;
    private readonly ParsedLine _line = new();
    private readonly List<string> _unknownFlags = [];
    private string? _unknownCommand;
    private int _at;

    private CommandLineReader(IReadOnlyList<string> words)
    {
        _words = words;
    }

    private IEnumerable<CommandOption> Options => _line.Command is { } command
        ? [.. command.AllOptions, .. command.RunsTunnels ? CommandTable.OlderOptions : [], CommandTable.Help, CommandTable.Version]
        : CommandTable.RootOptions;

    /// <summary>Reads the words after the program's name.</summary>
    public static ParsedLine Read(IReadOnlyList<string> words)
    {
        var reader = new CommandLineReader(words);
        reader.Read();
        return reader._line;
    }

    private void Read()
    {
        bool takesFlags = true;
        for (_at = 0; _at < _words.Count; _at++)
        {
            string word = _words[_at];
            if (takesFlags && word == "--")
            {
                takesFlags = false;
            }
            else if (takesFlags && word.Length > 1 && word[0] == '-')
            {
                ReadFlag(word);
            }
            else if (_line.Command is null && _line.Group is null && _unknownCommand is null)
            {
                ReadCommand(word);
            }
            else
            {
                _line.Arguments.Add(word);
            }
        }

        if (_line.Group is { } group && _line.Command is null)
        {
            ReportSecondWord(group);
        }

        ReportUnknown();
    }

    private void ReadFlag(string word)
    {
        var (option, attached) = Find(word);
        if (option is null)
        {
            string name = word.Split('=', ':')[0];
            _unknownFlags.Add(name);
            return;
        }

        if (option == CommandTable.Help)
        {
            _line.WantsHelp = true;
            return;
        }

        if (option == CommandTable.Version)
        {
            _line.WantsVersion = true;
            return;
        }

        if (option.IsSwitch)
        {
            if (attached is not null)
            {
                _line.Mistakes.Add($"{option.Flag}: takes no value");
                return;
            }
        }
        else if (attached is null && _at + 1 < _words.Count && _words[_at + 1] != "--" && Find(_words[_at + 1]).Option is null)
        {
            attached = _words[++_at];
        }

        if (option.IsRepeatable && attached is not null)
        {
            _line.Append(option.Flag, attached);
        }
        else if (!_line.TryAdd(option.Flag, attached) && !option.IsRepeatable)
        {
            string mistake = $"{option.Flag}: is given more than once";
            if (!_line.Mistakes.Contains(mistake))
            {
                _line.Mistakes.Add(mistake);
            }
        }
        else if (!option.IsSwitch && attached is null)
        {
            _line.Mistakes.Add($"{option.Flag}: lacks its value");
        }
    }

    /// <summary>The option of a word, and the value in the same word.</summary>
    private (CommandOption? Option, string? Attached) Find(string word)
    {
        if (word.Length < 2 || word[0] != '-')
        {
            return (null, null);
        }

        int end = word.AsSpan().IndexOfAny('=', ':');
        string name = end < 0 ? word : word[..end];
        foreach (CommandOption option in Options)
        {
            if (option.Names.Contains(name))
            {
                return (option, end < 0 ? null : word[(end + 1)..]);
            }
        }

        return (null, null);
    }

    private void ReadCommand(string word)
    {
        bool isFirst = _at == 0;
        CommandSpec? command = CommandTable.Find(word);
        if (command is null && CommandTable.InGroup(word).Any())
        {
            command = _at + 1 < _words.Count ? CommandTable.Find($"{word} {_words[_at + 1]}") : null;
            if (command is null)
            {
                _line.Group = word;
                return;
            }

            _at++;
        }

        if (command is null)
        {
            _unknownCommand = word;
        }
        else if (!isFirst && !command.RunsTunnels)
        {
            // Its flags are others than those that may come before.
            _line.Mistakes.Add($"'{command.Group}' has to be the first word");
            _line.Command = command;
        }
        else
        {
            _line.Command = command;
        }
    }

    private void ReportSecondWord(string group)
    {
        string[] words = [.. CommandTable.InGroup(group).Select(static command => command.Word!)];
        string list = string.Join(", ", words);
        if (_line.Argument is not { } given)
        {
            _line.Mistakes.Add($"'{group}' needs one of these after it: {list}, as in '{CommandTable.InGroup(group).First().Examples[0]}'");
        }
        else if (_unknownFlags.Count == 0)
        {
            _line.Mistakes.Add(NearestWord.Find(given, words) is { } near
                ? $"'{group} {given}' is not a command, did you mean '{group} {near}'?"
                : $"'{group} {given}' is not a command; after '{group}' comes one of {list}");
        }
    }

    private void ReportUnknown()
    {
        // The value after a misspelt flag is an unknown word too, and may be a token. So only the flag itself is named.
        string[] known = [.. Options.SelectMany(static option => option.Names)];
        _line.Mistakes.AddRange(_unknownFlags.Select(flag =>
            Near(flag, known) is { } near ? $"{flag}: unknown flag, did you mean {near}?" : $"{flag}: unknown flag"));
        if (_unknownFlags.Count > 0)
        {
            return;
        }

        if (_unknownCommand is { } word)
        {
            _line.HasUnknownCommand = true;
            string list = string.Join(", ", CommandTable.Words);
            _line.Mistakes.Add(word is "authtoken"
                ? "'authtoken' is not a command here: 'tunnel2 token create' makes a token, 'tunnel2 login SERVER' stores it"
                : (ForeignWords.Command(word) ?? NearestWord.Find(word, CommandTable.Words)) is { } near
                ? $"'{word}' is not a command, did you mean '{near}'?"
                : $"'{word}' is not a command; the commands are {list}, as in 'tunnel2 http 3000'");
        }
        else if (_line.Command is { } command && _line.Arguments.Count > command.MostArguments)
        {
            _line.Mistakes.Add(command switch
            {
                { Name: "start" } => "'start' takes its tunnels from the file of --config",
                { Name: "file" } => "FOLDER: only one folder can be given",
                { RunsTunnels: true } => "<upstream>: only one port, host:port or URL can be given",
                _ => $"'{_line.Arguments[command.MostArguments]}': not understood; this is all: {command.Usage}",
            });
        }
        else if (_line.Command is { ArgumentChoices: { Length: > 0 } choices } && _line.Argument is { } given && !choices.Contains(given))
        {
            _line.Mistakes.Add(NearestWord.Find(given, choices) is { } near
                ? $"'{given}' is not one of {string.Join(", ", choices)}; did you mean '{near}'?"
                : $"'{given}' is not one of {string.Join(", ", choices)}");
        }
    }

    /// <summary>The flag that was probably meant. One letter is similar to every other, so only its case is looked at.</summary>
    private static string? Near(string flag, string[] known) => ForeignWords.Flag(flag) is { } ours && known.Contains(ours) ? ours
        : flag.Length <= 2
        ? known.FirstOrDefault(name => name.Equals(flag, StringComparison.OrdinalIgnoreCase))
        : NearestWord.Find(flag, known.Where(static name => name.Length > 2));
}
