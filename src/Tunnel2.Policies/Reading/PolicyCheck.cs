using System.Text;
using Tunnel2.Policies.Paths;
using Tunnel2.Policies.Tables;

namespace Tunnel2.Policies.Reading;

/// <summary>Finds rows that contradict each other. Pure.</summary>
internal static class PolicyCheck
{
    /// <summary>Reports rows that no request reaches, redirects that lead to themselves, and a last row that changes nothing.</summary>
    /// <param name="rows">The rows that have no mistake of their own.</param>
    /// <param name="items">Where all rows come from.</param>
    /// <param name="mistakes">Gets the mistakes.</param>
    public static void Report(List<PolicyRow> rows, List<PolicyNode> items, List<PolicyMistake> mistakes)
    {
        foreach (var row in rows)
        {
            if (rows.Find(other => other.Number < row.Number && other.End != PolicyEnd.None && other.Match.Covers(row.Match)) is { } before)
            {
                Add(row, FormattableString.Invariant(
                    $"no request reaches it: row {before.Number} ends the walk for all that it would match"));
            }
            else if (LeadsToItself(row, rows))
            {
                Add(row, "redirect: leads to a path that this row matches, so it never ends");
            }
        }

        if (rows[^1].End == PolicyEnd.Allow && rows[^1].Number == items.Count)
        {
            Add(
                rows[^1],
                "changes nothing: what no row refuses passes anyway. To refuse all the rest, add { \"deny\": true } as the last row");
        }

        void Add(PolicyRow row, string message) => mistakes.Add(new PolicyMistake(row.Number, items[row.Number - 1].Line, message));
    }

    /// <summary>Whether a redirect to a path of the tunnel itself comes to the same row again.</summary>
    private static bool LeadsToItself(PolicyRow row, List<PolicyRow> rows)
    {
        if (row.Redirect is not { KeepsPath: false } redirect
            || !redirect.Target.StartsWith('/')
            || row.Match is not { Methods.IsEmpty: true, Headers.IsEmpty: true, Networks.IsEmpty: true, Countries.IsEmpty: true })
        {
            return false;
        }

        var path = new RequestPath();
        path.Read(Encoding.ASCII.GetBytes(redirect.Target.Split('?', '#')[0]));
        var first = rows.Find(other => other.End != PolicyEnd.None
            && (other.Match.Paths.IsEmpty || other.Match.Paths.Any(pattern => pattern.MatchesAny(path))));
        return ReferenceEquals(first, row);
    }
}
