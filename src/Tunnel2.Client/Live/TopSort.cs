namespace Tunnel2.Client.Live;

/// <summary>A column of the table, in the order in which they are shown.</summary>
internal enum TopColumn
{
    Session,
    Requests,
    Errors,
    P50,
    P95,
    P99,
    BytesIn,
    BytesOut,
}

/// <summary>A session with the figures that are shown.</summary>
internal readonly record struct TopRow(string Name, TopSession Session, TopStatistics Now);

/// <summary>In which order sessions are shown. Immutable.</summary>
/// <param name="Column">By what.</param>
/// <param name="IsReversed">The other way round: usually the highest number is first, and names begin with A.</param>
internal readonly record struct TopSort(TopColumn Column, bool IsReversed)
{
    /// <summary>How many columns there are.</summary>
    public const int Columns = (int)TopColumn.BytesOut + 1;

    /// <summary>The busiest first.</summary>
    public static TopSort Default => new(TopColumn.Requests, IsReversed: false);

    /// <summary>Sorts; equals by name, those that are online first, so that rows do not change places without a reason.</summary>
    public List<TopRow> Sort(IEnumerable<TopRow> rows)
    {
        var sorted = rows.ToList();
        TopSort sort = this;
        sorted.Sort((a, b) => sort.Compare(a, b));
        return sorted;
    }

    private int Compare(in TopRow a, in TopRow b)
    {
        int byName = string.CompareOrdinal(a.Name, b.Name);
        int order = Column == TopColumn.Session ? byName : Figure(b).CompareTo(Figure(a));
        order = IsReversed ? -order : order;
        return order != 0 ? order
            : a.Session.IsOnline != b.Session.IsOnline ? (a.Session.IsOnline ? -1 : 1)
            : byName;
    }

    private long Figure(in TopRow row) => Column switch
    {
        TopColumn.Requests => row.Now.Requests,
        TopColumn.Errors => row.Now.Errors,
        TopColumn.P50 => row.Now.P50Us,
        TopColumn.P95 => row.Now.P95Us,
        TopColumn.P99 => row.Now.P99Us,
        TopColumn.BytesIn => row.Now.BytesIn,
        TopColumn.BytesOut => row.Now.BytesOut,
        _ => 0,
    };
}
