using Tunnel2.Policies.Tables;
using Tunnel2.Protocol;

namespace Tunnel2.Policies.Reading;

/// <summary>Reads one row, and reports everything that is wrong with it. One use per instance.</summary>
internal sealed class RowReader
{
    private static readonly string[] _keys =
    [
        "path", "method", "header", "address", "country", "allow", "deny", "redirect", "status", "keep-path", "answer",
        "add-request-header", "set-request-header", "remove-request-header", "add-response-header", "set-response-header",
        "remove-response-header", "rate-limit", "body-limit", "timeout",
    ];

    private static readonly string[] _others =
    [
        .. _keys.Where(static key =>
            key is "rate-limit" or "body-limit" or "timeout" || key.EndsWith("-header", StringComparison.Ordinal)),
    ];

    private static readonly string[] _ends = ["allow", "deny", "redirect", "answer"];

    private readonly RowSource _row;

    public RowReader(int number, PolicyNode node, List<PolicyMistake> mistakes) => _row = new RowSource(number, node, mistakes);

    /// <summary>Reads the row.</summary>
    /// <returns>Null when there are mistakes.</returns>
    public PolicyRow? Read()
    {
        if (_row.Node.Kind != PolicyNodeKind.Table)
        {
            _row.Report(_row.Node, "is not a table: { \"path\": \"/admin/**\", \"deny\": true }");
            return null;
        }

        foreach (var (name, value) in _row.Node.Members)
        {
            if (!_keys.Contains(name))
            {
                var near = _row.MayCompare ? NearestWord.Find(name, _keys) : null;
                _row.Report(value, near is null
                    ? $"'{PolicyReader.Short(name)}' is not a key; these are: {string.Join(", ", _keys)}"
                    : $"'{PolicyReader.Short(name)}' is not a key, did you mean '{near}'?");
            }
        }

        _row.ReportTwice(_row.Node, "");
        var edits = new EditReader(_row);
        var end = new EndReader(_row, edits);
        var limits = new LimitReader(_row);
        var row = new PolicyRow
        {
            Number = _row.Number,
            Match = new MatchReader(_row).ReadMatch(),
            End = end.ReadEnd(),
            Redirect = end.ReadRedirect(),
            Answer = end.ReadAnswer(),
            RequestEdits = edits.ReadEdits("request"),
            ResponseEdits = edits.ReadEdits("response"),
            Rate = limits.ReadRate(),
            BodyLimit = limits.ReadBodyLimit(),
            Timeout = limits.ReadTimeout(),
        };
        ReportActions(row);
        return _row.IsWrong ? null : row;
    }

    private void ReportActions(PolicyRow row)
    {
        string[] ends = [.. _ends.Where(_row.Has)];
        string[] others = [.. _others.Where(_row.Has)];
        if (ends.Length > 1)
        {
            _row.Report(_row.Node, $"has both {ends[0]} and {ends[1]}, and each of them ends the walk");
        }
        else if (ends.Length == 1 && others.Length > 0)
        {
            _row.Report(_row.Node, $"has {ends[0]}, which ends the walk, and {others[0]}; write {others[0]} in a row before it");
        }
        else if (ends.Length + others.Length == 0)
        {
            _row.Report(
                _row.Node, "does nothing: it has none of allow, deny, redirect, answer, headers, rate-limit, body-limit and timeout");
        }

        if (row.Redirect is null && !_row.Has("redirect") && (_row.Has("status") || _row.Has("keep-path")))
        {
            _row.Report(_row.Node, "has a status or keep-path without a redirect; the status of an answer belongs into it");
        }
    }
}
