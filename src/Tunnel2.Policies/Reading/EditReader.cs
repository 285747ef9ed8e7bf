using System.Collections.Immutable;
using Tunnel2.Policies.Tables;

namespace Tunnel2.Policies.Reading;

/// <summary>Reads what a row changes in the fields of requests and responses.</summary>
internal sealed class EditReader
{
    private readonly RowSource _row;

    public EditReader(RowSource row) => _row = row;

    /// <summary>Reads the changes of a message.</summary>
    /// <param name="message"><c>request</c> or <c>response</c>.</param>
    public ImmutableArray<FieldEdit> ReadEdits(string message)
    {
        Func<string, string?> findObstacle = message == "request" ? FieldNames.FindRequestObstacle : FieldNames.FindResponseObstacle;
        var edits = ImmutableArray.CreateBuilder<FieldEdit>();
        _row.ReadTexts($"remove-{message}-header", name =>
        {
            var obstacle = FieldNames.IsToken(name) ? findObstacle(name) : "is not the name of a header";
            if (obstacle is null)
            {
                edits.Add(new FieldEdit(FieldEditKind.Remove, name, ""));
            }

            return obstacle;
        });
        foreach (var (kind, word) in new[] { (FieldEditKind.Set, "set"), (FieldEditKind.Add, "add") })
        {
            if (_row.Find($"{word}-{message}-header") is { } node)
            {
                edits.AddRange(ReadFields(node, $"{word}-{message}-header", findObstacle)
                    .Select(field => new FieldEdit(kind, field.Key, field.Value)));
            }
        }

        foreach (var name in edits.GroupBy(static edit => edit.Name, StringComparer.OrdinalIgnoreCase)
            .Where(static same => same.Count() > 1))
        {
            _row.Report(_row.Node, $"changes the header {name.Key} of the {message} more than once: "
                + string.Join(" and ", name.Select(static edit => edit.Kind.ToString().ToLowerInvariant())));
        }

        return edits.ToImmutable();
    }

    /// <summary>Reads a table of names and values.</summary>
    /// <param name="node">The table.</param>
    /// <param name="key">What reports call it.</param>
    /// <param name="findObstacle">Says why a field may not be written; null: it may.</param>
    /// <returns>The fields without mistakes.</returns>
    public List<KeyValuePair<string, string>> ReadFields(PolicyNode node, string key, Func<string, string?> findObstacle)
    {
        var fields = new List<KeyValuePair<string, string>>();
        if (node is not { Kind: PolicyNodeKind.Table, Members.Count: > 0 and <= RowSource.MostOfList })
        {
            _row.Report(node, $"{key}: is not a table of names and values: {{ \"X-Env\": \"beta\" }}");
            return fields;
        }

        _row.ReportTwice(node, $"{key}: ");
        foreach (var (name, value) in node.Members)
        {
            if (!FieldNames.IsToken(name))
            {
                _row.Report(value, $"{key}: '{PolicyReader.Short(name)}' is not the name of a header");
            }
            else if (findObstacle(name) is { } obstacle)
            {
                _row.Report(value, $"{key}: {name} {obstacle}");
            }
            else if (value.Kind != PolicyNodeKind.Text || !FieldNames.IsValue(value.Text) || value.Text.Length > 1024)
            {
                _row.Report(value, $"{key}: the value of {name} is not a text of at most 1024 printable ASCII characters");
            }
            else
            {
                fields.Add(new(name, value.Text));
            }
        }

        return fields;
    }
}
