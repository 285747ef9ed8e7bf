using System.Buffers;
using System.Text.Json;
using Tunnel2.Policies.Tables;
using Tunnel2.Protocol;

namespace Tunnel2.Policies.Reading;

/// <summary>
/// Makes a policy of its text. It continues after a mistake, so that all are reported at once, and refuses what contradicts itself: rows
/// that no request reaches, actions that exclude each other, limits that let no request in. One use per instance.
/// </summary>
internal sealed class PolicyReader
{
    /// <summary>The name of the list of rows, where it has one.</summary>
    private const string RowsName = "rows";

    /// <summary>How many mistakes are reported.</summary>
    internal const int MostMistakes = 50;

    private const int MostPaths = 256;
    private const int MostPathBytes = 4_096;
    private const int MostHeaders = 64;
    private const int MostNetworks = 200;
    private const int MostEdits = 64;

    private readonly List<PolicyMistake> _mistakes = [];

    private PolicyReader()
    {
    }

    /// <summary>Reads a policy in JSON.</summary>
    /// <param name="text">UTF-8.</param>
    public static PolicyReading Read(ReadOnlySpan<byte> text) =>
        text.Length > Policy.MaxFileLength
            ? new PolicyReading(
                null, [new PolicyMistake(0, 1, FormattableString.Invariant($"is longer than {Policy.MaxFileLength} bytes"))])
            : PolicyJson.TryRead(text, out var node) is { } mistake
            ? new PolicyReading(null, [mistake])
            : Read(node!);

    /// <summary>Reads a policy that was read into parts.</summary>
    public static PolicyReading Read(PolicyNode node)
    {
        var reader = new PolicyReader();
        var rows = reader.ReadRows(node);
        var text = new ArrayBufferWriter<byte>();
        if (rows.Count > 0)
        {
            PolicyCheck.Report(rows, RowsOf(node)!.Items, reader._mistakes);
        }

        if (reader._mistakes.Count == 0)
        {
            using (var json = new Utf8JsonWriter(text))
            {
                RowsOf(node)!.WriteTo(json);
            }

            if (text.WrittenCount > Policy.MaxLength)
            {
                reader._mistakes.Add(new PolicyMistake(
                    0,
                    1,
                    FormattableString.Invariant(
                        $"has {text.WrittenCount} bytes without spaces and remarks; {Policy.MaxLength} may be")));
            }
        }

        return reader._mistakes.Count == 0
            ? new PolicyReading(new Policy([.. rows], text.WrittenMemory), [])
            : new PolicyReading(
                null,
                [.. reader._mistakes.OrderBy(static mistake => mistake.Row).ThenBy(static mistake => mistake.Line).Take(MostMistakes)]);
    }

    /// <summary>The list of rows; null: there is none.</summary>
    internal static PolicyNode? RowsOf(PolicyNode node) => node.Kind switch
    {
        PolicyNodeKind.List => node,
        PolicyNodeKind.Table => node.Members.Find(static member => member.Name == RowsName).Value,
        _ => null,
    };

    private List<PolicyRow> ReadRows(PolicyNode node)
    {
        if (node.Kind == PolicyNodeKind.Table)
        {
            foreach (var (name, value) in node.Members.Where(static member => member.Name != RowsName))
            {
                _mistakes.Add(new PolicyMistake(0, value.Line, $"'{Short(name)}' is not a key here; the only one is 'rows'"));
            }

            if (node.Members.Count(static member => member.Name == RowsName) > 1)
            {
                _mistakes.Add(new PolicyMistake(0, node.Line, "'rows' is given more than once"));
            }
        }

        if (RowsOf(node) is not { Kind: PolicyNodeKind.List, Items.Count: > 0 } list)
        {
            _mistakes.Add(new PolicyMistake(
                0, node.Line, "a policy is a list of rows, with at least one: [ { \"path\": \"/admin/**\", \"deny\": true } ]"));
            return [];
        }

        if (list.Items.Count > Policy.MaxRows)
        {
            ReportSum(list, list.Items.Count, Policy.MaxRows, "rows");
            return [];
        }

        var rows = new List<PolicyRow>();
        for (var i = 0; i < list.Items.Count; i++)
        {
            if (new RowReader(i + 1, list.Items[i], _mistakes).Read() is { } row)
            {
                rows.Add(row);
            }
        }

        var before = _mistakes.Count;
        ReportSum(list, rows.Sum(static row => row.Match.Paths.Length), MostPaths, "paths in all");
        ReportSum(
            list, rows.Sum(static row => row.Match.Paths.Sum(static path => path.Text.Length)), MostPathBytes, "bytes of paths in all");
        ReportSum(list, rows.Sum(static row => row.Match.Networks.Length), MostNetworks, "addresses and networks in all");
        ReportSum(list, rows.Sum(static row => row.Match.Headers.Length), MostHeaders, "conditions about headers in all");
        ReportSum(list, rows.Sum(static row => row.RequestEdits.Length + row.ResponseEdits.Length), MostEdits, "changes of headers in all");
        return _mistakes.Count == before ? rows : [];
    }

    private void ReportSum(PolicyNode list, int sum, int most, string what)
    {
        if (sum > most)
        {
            _mistakes.Add(new PolicyMistake(0, list.Line, FormattableString.Invariant($"has {sum} {what}; {most} may be")));
        }
    }

    /// <summary>A name as messages show it.</summary>
    internal static string Short(string text) => PlainText.Clean(text, 64);
}
