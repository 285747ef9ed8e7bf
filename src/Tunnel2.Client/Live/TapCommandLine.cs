using System.CommandLine;
using System.Globalization;

namespace Tunnel2.Client.Live;

/// <summary>The grammar of <c>tunnel2 tap</c> and <c>tunnel2 stats</c>. Help and mistakes are this program's own text.</summary>
internal sealed class TapCommandLine
{
    /// <summary>Partitions of a recording; each is a thread and has its own state.</summary>
    public const int MostPartitions = 64;

    private readonly Option<string?> _host = Value("--host");
    private readonly Option<string?> _token = Value("--token");
    private readonly Option<string?> _fingerprint = Value("--server-fingerprint");
    private readonly Option<string?> _authority = Value("--server-ca");
    private readonly Option<string?> _ring = Value("--ring");
    private readonly Option<string?> _replay = Value("--replay");
    private readonly Option<string?> _record = Value("--record");
    private readonly Option<string?> _name = Value("--name");
    private readonly Option<string?> _status = Value("--status");
    private readonly Option<string?> _minDuration = Value("--min-duration");
    private readonly Option<string?> _partitions = Value("--partitions");
    private readonly Option<bool> _fromOldest = new("--from-oldest") { Arity = ArgumentArity.Zero };
    private readonly Option<bool> _json = new("--json") { Arity = ArgumentArity.Zero };
    private readonly Argument<string?> _file = new("file") { Arity = ArgumentArity.ZeroOrOne };
    private readonly Command _tap = new("tap");
    private readonly Command _stats = new("stats");
    private readonly RootCommand _root = [];

    public TapCommandLine()
    {
        foreach (Option option in new Option[]
        {
            _host, _token, _fingerprint, _authority, _ring, _replay, _record, _name, _status, _minDuration, _fromOldest, _json,
        })
        {
            _tap.Add(option);
        }

        _stats.Add(_file);
        _stats.Add(_partitions);
        _stats.Add(_json);
        foreach (Command command in new[] { _tap, _stats })
        {
            command.TreatUnmatchedTokensAsErrors = false;
            command.SetAction(static _ => { });
            _root.Add(command);
        }
    }

    /// <summary>Checks a command line whose first word is one of the two.</summary>
    /// <returns>The options, or null when <paramref name="mistakes"/> has entries.</returns>
    public TapOptions? Parse(IReadOnlyList<string> args, Func<string, string?> environment, List<string> mistakes)
    {
        ParseResult parsed = _root.Parse(args, new ParserConfiguration { EnablePosixBundling = false, ResponseFileTokenReplacer = null });
        bool isStats = parsed.CommandResult.Command == _stats;
        mistakes.AddRange(
            parsed.UnmatchedTokens.Select(
                static word => word.StartsWith('-') ? $"{word.Split('=')[0]}: unknown flag" : $"'{word}': not understood"));
        Option<string?>[] valued = isStats
            ? [_partitions]
            : [_host, _token, _fingerprint, _authority, _ring, _replay, _record, _name, _status, _minDuration];
        foreach (Option<string?> option in valued)
        {
            if (parsed.GetResult(option) is { Implicit: false } result
                && (result.IdentifierTokenCount > 1 || result.Tokens.Count == 0))
            {
                mistakes.Add(result.Tokens.Count == 0 ? $"{option.Name}: lacks its value" : $"{option.Name}: is given more than once");
            }
        }

        if (mistakes.Count > 0)
        {
            return null; // A flag without one value has none to ask for.
        }

        var options = new TapOptions { Json = parsed.GetValue(_json) };
        if (isStats)
        {
            string? file = parsed.GetValue(_file);
            if (file is null)
            {
                mistakes.Add("say which recording or ring, as in 'tunnel2 stats FILE'");
            }

            options = options with { ReplayFile = file, Partitions = ParsePartitions(parsed.GetValue(_partitions), mistakes) };
            return mistakes.Count > 0 ? null : options;
        }

        options = options with
        {
            Relay = RelayTarget.Parse(flag => parsed.GetValue<string?>(flag), environment, mistakes),
            RingFile = parsed.GetValue(_ring),
            ReplayFile = parsed.GetValue(_replay),
            RecordFile = parsed.GetValue(_record),
            FromOldest = parsed.GetValue(_fromOldest),
            Filter = RecordFilter.Parse(parsed.GetValue(_name), parsed.GetValue(_status), parsed.GetValue(_minDuration), mistakes),
        };
        bool[] sources = [parsed.GetValue(_host) is not null, options.RingFile is not null, options.ReplayFile is not null];
        if (sources.Count(static given => given) > 1)
        {
            mistakes.Add("--host, --ring, --replay: only one of them can be given");
        }

        return mistakes.Count > 0 ? null : options;
    }

    private static int? ParsePartitions(string? text, List<string> mistakes)
    {
        if (text is null or "auto")
        {
            return null;
        }

        if (int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int count) && count is >= 1 and <= MostPartitions)
        {
            return count;
        }

        mistakes.Add($"--partitions: '{text}' is neither auto nor a number from 1 to {MostPartitions}");
        return null;
    }

    // Arity "zero or one" although a value is needed, so that this class reports a missing value in its own words.
    private static Option<string?> Value(string name) => new(name) { Arity = ArgumentArity.ZeroOrOne };
}
