using System.Collections.Immutable;
using System.Globalization;
using Tunnel2.Protocol;

namespace Tunnel2.Policies.Reading;

/// <summary>The keys of one row as they were written, and where mistakes in them are reported. One use per instance.</summary>
/// <param name="number">The row's number, from 1.</param>
/// <param name="node">The row.</param>
/// <param name="mistakes">Gets what is wrong.</param>
internal sealed class RowSource(int number, PolicyNode node, List<PolicyMistake> mistakes)
{
    /// <summary>The maximum number of values of a list, and names of a table.</summary>
    public const int MostOfList = 64;

    /// <summary>The row's number, from 1.</summary>
    public int Number => number;

    /// <summary>The row.</summary>
    public PolicyNode Node => node;

    /// <summary>Whether a mistake was reported.</summary>
    public bool IsWrong { get; private set; }

    /// <summary>Whether one more word may be compared with others: a stranger's text has thousands.</summary>
    public bool MayCompare => mistakes.Count < PolicyReader.MostMistakes;

    /// <summary>Reads a text or a list of texts.</summary>
    /// <param name="key">The key of the row.</param>
    /// <param name="judge">Says what is wrong with a text; null: nothing.</param>
    /// <returns>The texts, also wrong ones; empty without the key.</returns>
    public ImmutableArray<string> ReadTexts(string key, Func<string, string?> judge)
    {
        if (Find(key) is not { } node)
        {
            return [];
        }

        List<PolicyNode> items = node.Kind == PolicyNodeKind.List ? node.Items : [node];
        if (items.Count is 0 or > MostOfList)
        {
            Report(node, FormattableString.Invariant($"{key}: is a text, or a list of 1 to {MostOfList} texts"));
            return [];
        }

        foreach (var item in items)
        {
            if (item.Kind != PolicyNodeKind.Text)
            {
                Report(item, $"{key}: is a text, or a list of texts");
            }
            else if (judge(item.Text) is { } mistake)
            {
                Report(item, $"{key}: '{PolicyReader.Short(item.Text)}' {mistake}");
            }
        }

        if (items.Select(static item => item.Text).Distinct(StringComparer.Ordinal).Count() < items.Count)
        {
            Report(node, $"{key}: has the same more than once");
        }

        return [.. items.Select(static item => item.Text)];
    }

    /// <summary>The text of a key of a table; null without the key.</summary>
    public string? TextOf(PolicyNode table, string name, string key)
    {
        if (Member(table, name) is not { } node)
        {
            return null;
        }

        if (node.Kind != PolicyNodeKind.Text)
        {
            Report(node, $"{key}: {name} is not a text");
        }

        return node.Text;
    }

    /// <summary>Whether a key of a table is true; false without the key.</summary>
    public bool ReadSwitch(PolicyNode table, string name)
    {
        if (Member(table, name) is not { } node)
        {
            return false;
        }

        if (node.Kind != PolicyNodeKind.Switch)
        {
            Report(node, $"{name}: is neither true nor false");
        }

        return node.Text == "true";
    }

    /// <summary>Reads a whole number, at least 0.</summary>
    public static bool TryReadNumber(PolicyNode node, out int number)
    {
        number = 0;
        return node.Kind == PolicyNodeKind.Number && int.TryParse(node.Text, NumberStyles.None, CultureInfo.InvariantCulture, out number);
    }

    /// <summary>Whether the row has a key.</summary>
    public bool Has(string key) => Find(key) is not null;

    /// <summary>The value of a key of the row; null without the key.</summary>
    public PolicyNode? Find(string key) => Member(node, key);

    /// <summary>The value of a key of a table; null without the key.</summary>
    public static PolicyNode? Member(PolicyNode table, string name) => table.Members.Find(member => member.Name == name).Value;

    /// <summary>Reports keys that a table has more than once.</summary>
    public void ReportTwice(PolicyNode table, string key)
    {
        foreach (var same in table.Members.GroupBy(static member => member.Name, StringComparer.OrdinalIgnoreCase)
            .Where(static same => same.Count() > 1))
        {
            Report(same.Last().Value, $"{key}'{PolicyReader.Short(same.Key)}' is given more than once");
        }
    }

    /// <summary>Reports keys of a table that do not exist.</summary>
    public void ReportUnknown(PolicyNode table, string key, params string[] known)
    {
        foreach (var (name, value) in table.Members.Where(member => !known.Contains(member.Name)))
        {
            var near = MayCompare ? NearestWord.Find(name, known) : null;
            Report(value, $"{key}: '{PolicyReader.Short(name)}' is not a key"
                + (near is null ? $"; these are: {string.Join(", ", known)}" : $", did you mean '{near}'?"));
        }
    }

    /// <summary>Reports a mistake.</summary>
    /// <param name="where">What is wrong.</param>
    /// <param name="message">The key, and what is wrong with it.</param>
    public void Report(PolicyNode where, string message)
    {
        IsWrong = true;
        if (mistakes.Count <= PolicyReader.MostMistakes)
        {
            mistakes.Add(new PolicyMistake(number, where.Line, message));
        }
    }
}
