using System.Text;

namespace Tunnel2.Client.CommandLine;

/// <summary>The scripts of <c>tunnel2 completion</c>, made of <see cref="CommandTable"/>. A script starts no program of its own.</summary>
internal static class CompletionScript
{
    /// <summary>The script for a shell; null: it is not known.</summary>
    public static string? For(string shell) => shell switch
    {
        "bash" => Bash(),
        "zsh" => Zsh(),
        "fish" => Fish(),
        "powershell" => PowerShell(),
        _ => null,
    };

    private static IEnumerable<CommandOption> OptionsOf(CommandSpec command) => command.ShownOptions.Append(CommandTable.Help);

    private static string FlagsOf(CommandSpec command) => string.Join(' ', OptionsOf(command).SelectMany(LongNames));

    private static IEnumerable<string> LongNames(CommandOption option) =>
        option.Names.Where(static name => name.StartsWith("--", StringComparison.Ordinal));

    /// <summary>The second words of a group, or null.</summary>
    private static string? SecondWords(string word) =>
        CommandTable.InGroup(word).Any() ? string.Join(' ', CommandTable.InGroup(word).Select(static command => command.Word)) : null;

    private static string[] Groups => [.. CommandTable.Words.Where(static word => SecondWords(word) is not null)];

    /// <summary>The options that take values, each once for all commands in which they are the same.</summary>
    private static IEnumerable<(string Names, CommandOption Option)> Valued(char between) => CommandTable.All
        .SelectMany(OptionsOf).Where(static option => !option.IsSwitch)
        .DistinctBy(static option => option.Flag)
        .Select(option => (string.Join(between, option.Names), option));

    private static string Bash()
    {
        string beginning =
            $$"""
            # bash completion of tunnel2; made by 'tunnel2 completion bash'
            _tunnel2() {
              local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" i
              COMPREPLY=()
              # --flag=value comes as three words.
              if [[ "$word" == "=" ]]; then word=""; elif [[ "$before" == "=" ]]; then before="${COMP_WORDS[COMP_CWORD-2]}"; fi
              for ((i = 1; i < COMP_CWORD; i++)); do
                case "${COMP_WORDS[i]}" in
                  {{string.Join('|', CommandTable.Words)}}) command="${COMP_WORDS[i]}"; break ;;
                esac
              done
              case "$before" in

            """;
        var text = new StringBuilder(beginning);
        foreach (var (names, option) in Valued('|'))
        {
            string reply = option.Kind switch
            {
                ValueKind.File => BashPaths("-f"),
                ValueKind.Folder => BashPaths("-d"),
                _ => $"COMPREPLY=($(compgen -W \"{string.Join(' ', option.Choices)}\" -- \"$word\"))",
            };
            text.Append("    ").Append(names).Append(") ").Append(reply).Append("; return ;;\n");
        }

        text.Append("  esac\n  if [[ -z \"$command\" ]]; then\n    COMPREPLY=($(compgen -W \"")
            .Append(string.Join(' ', CommandTable.Words)).Append(" --help --version\" -- \"$word\"))\n    return\n  fi\n");
        foreach (string group in Groups)
        {
            text.Append("  if [[ \"$command\" == ").Append(group).Append(" ]]; then\n    if ((i + 1 == COMP_CWORD)); then\n")
                .Append("      COMPREPLY=($(compgen -W \"").Append(SecondWords(group)).Append("\" -- \"$word\"))\n      return\n    fi\n")
                .Append("    command=\"").Append(group).Append(" ${COMP_WORDS[i+1]}\"\n  fi\n");
        }

        text.Append("  case \"$command\" in\n");
        foreach (CommandSpec command in CommandTable.All)
        {
            text.Append("    '").Append(command.Name).Append("') ");
            if (command.Name == "help")
            {
                text.Append("COMPREPLY=($(compgen -W \"").Append(string.Join(' ', CommandTable.Words)).Append("\" -- \"$word\")) ;;\n");
                continue;
            }

            string argument = command switch
            {
                { ArgumentChoices: { Length: > 0 } choices } => $"COMPREPLY=($(compgen -W \"{string.Join(' ', choices)}\" -- \"$word\"))",
                { ArgumentKind: ValueKind.File } => BashPaths("-f"),
                { ArgumentKind: ValueKind.Folder } => BashPaths("-d"),
                _ => "",
            };
            text.Append("if [[ \"$word\" == -* ]]; then COMPREPLY=($(compgen -W \"").Append(FlagsOf(command)).Append("\" -- \"$word\"))");
            text.Append(argument.Length > 0 ? $"; else {argument}; fi ;;\n" : "; fi ;;\n");
        }

        return text.Append("  esac\n}\ncomplete -F _tunnel2 tunnel2\n").ToString();
    }

    /// <summary>Names of files may have spaces; a folder gets its slash.</summary>
    private static string BashPaths(string kind) =>
        $"compopt -o filenames 2> /dev/null; local IFS=$'\\n'; COMPREPLY=($(compgen {kind} -- \"$word\"))";

    private static string Zsh()
    {
        var text = new StringBuilder(
            """
            #compdef tunnel2
            # zsh completion of tunnel2; made by 'tunnel2 completion zsh'
            _tunnel2() {
              local command="" before="${words[CURRENT-1]}" i
              local -a words_of_program
              if [[ "${words[CURRENT]}" == --*=* ]]; then
                before="${words[CURRENT]%%=*}"
                compset -P '*='
              fi

              for ((i = 2; i < CURRENT; i++)); do
                case "${words[i]}" in

            """);
        text.Append("      ").Append(string.Join('|', CommandTable.Words))
            .Append(") command=\"${words[i]}\"; break ;;\n    esac\n  done\n");
        text.Append("  case \"$before\" in\n");
        foreach (var (names, option) in Valued('|'))
        {
            string reply = option.Kind switch
            {
                ValueKind.File => "_files",
                ValueKind.Folder => "_files -/",
                _ => option.Choices.Any() ? $"compadd -- {string.Join(' ', option.Choices)}" : ":",
            };
            text.Append("    ").Append(names).Append(") ").Append(reply).Append("; return ;;\n");
        }

        text.Append("  esac\n  if [[ -z \"$command\" ]]; then\n")
            .Append("    if [[ \"${words[CURRENT]}\" == -* ]]; then compadd -- --help --version; return; fi\n    words_of_program=(\n");
        foreach (string word in CommandTable.Words)
        {
            text.Append("      ").Append(Quote($"{word}:{SummaryOf(word)}")).Append('\n');
        }

        text.Append("    )\n    _describe command words_of_program\n    return\n  fi\n");
        foreach (string group in Groups)
        {
            text.Append("  if [[ \"$command\" == ").Append(group).Append(" ]]; then\n    if ((i + 1 == CURRENT)); then compadd -- ")
                .Append(SecondWords(group)).Append("; return; fi\n    command=\"").Append(group).Append(" ${words[i+1]}\"\n  fi\n");
        }

        text.Append("  case \"$command\" in\n");
        foreach (CommandSpec command in CommandTable.All)
        {
            string argument = command switch
            {
                { Name: "help" } => $"compadd -- {string.Join(' ', CommandTable.Words)}",
                { ArgumentChoices: { Length: > 0 } choices } => $"compadd -- {string.Join(' ', choices)}",
                { ArgumentKind: ValueKind.File } => "_files",
                { ArgumentKind: ValueKind.Folder } => "_files -/",
                _ => ":",
            };
            text.Append("    '").Append(command.Name).Append("') if [[ \"${words[CURRENT]}\" == -* ]]; then compadd -- ")
                .Append(FlagsOf(command)).Append("; else ").Append(argument).Append("; fi ;;\n");
        }

        return text.Append("  esac\n}\n").Append(
            """
            if [[ "${funcstack[1]}" == _tunnel2 ]]; then _tunnel2 "$@"; else compdef _tunnel2 tunnel2; fi

            """).ToString();
    }

    private static string Fish()
    {
        var text = new StringBuilder("# fish completion of tunnel2; made by 'tunnel2 completion fish'\ncomplete -c tunnel2 -f\n");
        string words = string.Join(' ', CommandTable.Words);
        foreach (string word in CommandTable.Words)
        {
            text.Append("complete -c tunnel2 -n 'not __fish_seen_subcommand_from ").Append(words).Append("' -a ").Append(word)
                .Append(" -d ").Append(Quote(SummaryOf(word))).Append('\n');
        }

        foreach (CommandOption option in new[] { CommandTable.Help, CommandTable.Version })
        {
            text.Append("complete -c tunnel2 -n 'not __fish_seen_subcommand_from ").Append(words).Append("' -l ").Append(option.Flag[2..])
                .Append(" -d ").Append(Quote(option.Words)).Append('\n');
        }

        foreach (CommandSpec command in CommandTable.All)
        {
            string seen = command.Word is { } second
                ? $"'__fish_seen_subcommand_from {command.Group}; and __fish_seen_subcommand_from {second}'"
                : $"'__fish_seen_subcommand_from {command.Name}'";
            if (command.Word is { } word)
            {
                text.Append("complete -c tunnel2 -n '__fish_seen_subcommand_from ").Append(command.Group)
                    .Append("; and not __fish_seen_subcommand_from ").Append(SecondWords(command.Group)).Append("' -a ").Append(word)
                    .Append(" -d ").Append(Quote(command.Summary)).Append('\n');
            }

            string? argument = command switch
            {
                { Name: "help" } => $"-a '{words}'",
                { ArgumentChoices: { Length: > 0 } choices } => $"-a '{string.Join(' ', choices)}'",
                { ArgumentKind: not ValueKind.Text } => "-F",
                _ => null,
            };
            if (argument is not null)
            {
                text.Append("complete -c tunnel2 -n ").Append(seen).Append(' ').Append(argument).Append('\n');
            }

            foreach (CommandOption option in OptionsOf(command))
            {
                text.Append("complete -c tunnel2 -n ").Append(seen);
                foreach (string name in LongNames(option))
                {
                    text.Append(" -l ").Append(name[2..]);
                }

                text.Append(option.IsSwitch ? ""
                    : option.Kind != ValueKind.Text ? " -r -F"
                    : option.Choices.Any() ? $" -x -a '{string.Join(' ', option.Choices)}'"
                    : " -x");
                text.Append(" -d ").Append(Quote(option.Words)).Append('\n');
            }
        }

        return text.ToString();
    }

    private static string PowerShell()
    {
        var text = new StringBuilder(
            """
            # PowerShell completion of tunnel2; made by 'tunnel2 completion powershell'
            Register-ArgumentCompleter -Native -CommandName tunnel2 -ScriptBlock {
              param($word, $ast, $cursor)
              $flags = @{

            """);
        foreach (CommandSpec command in CommandTable.All)
        {
            text.Append("    '").Append(command.Name).Append("' = '").Append(FlagsOf(command));
            text.Append(command.ArgumentChoices.Length > 0 ? $" {string.Join(' ', command.ArgumentChoices)}'\n" : "'\n");
        }

        text.Append("  }\n  $groups = @{\n");
        foreach (string group in Groups)
        {
            text.Append("    '").Append(group).Append("' = '").Append(SecondWords(group)).Append("'\n");
        }

        text.Append("  }\n  $values = @{\n");
        foreach (var (_, option) in Valued('|').Where(static pair => pair.Option.Choices.Any()))
        {
            text.Append("    '").Append(option.Flag).Append("' = '").Append(string.Join(' ', option.Choices)).Append("'\n");
        }

        text.Append("  }\n  $words = '").Append(string.Join(' ', CommandTable.Words)).Append(
            """
            '.Split(' ')
              $given = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
              if ($word -ne '' -and $given.Count -gt 0) { $given = @($given | Select-Object -SkipLast 1) }
              $command = $given | Where-Object { $words -contains $_ } | Select-Object -First 1
              if ($given.Count -gt 0 -and $values.ContainsKey($given[-1])) { $found = $values[$given[-1]].Split(' ') }
              elseif (-not $command) { $found = $words + '--help' + '--version' }
              elseif ($groups.ContainsKey($command)) {
                $second = $given | Where-Object { $groups[$command].Split(' ') -contains $_ } | Select-Object -First 1
                if ($second) { $found = $flags["$command $second"].Split(' ') } else { $found = $groups[$command].Split(' ') }
              }
              else { $found = $flags[$command].Split(' ') }
              $found | Where-Object { $_ -like "$word*" } | ForEach-Object {
                [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
              }
            }

            """);
        return text.ToString();
    }

    private static string SummaryOf(string word) =>
        CommandTable.Find(word)?.Summary ?? string.Join(", ", CommandTable.InGroup(word).Select(static command => command.Word));

    /// <summary>A text in single quotes, as sh, zsh and fish read it.</summary>
    private static string Quote(string text) => $"'{text.Replace("'", "", StringComparison.Ordinal)}'";
}
