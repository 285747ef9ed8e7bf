using System.Runtime.InteropServices;
using Tunnel2.Policies.Tables;
using Tunnel2.ProxyEntry.Policies;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Opening;

/// <summary>What <see cref="PolicyGate"/> keeps of a request. Requests of sessions without a policy have none.</summary>
internal sealed class PolicyNote : RequestNote
{
    private readonly List<PolicyRow> _rows = [];
    private readonly List<int> _begins = [];

    /// <summary>The policies that the request has passed; null: none yet.</summary>
    public SessionPolicy? Passed { get; set; }

    /// <summary>How long the visitor should wait; null: it is not limited.</summary>
    public int? RetryAfterSeconds { get; set; }

    /// <summary>The request as rows see it.</summary>
    public ExchangePolicyRequest Request { get; } = new();

    /// <summary>How many tables the request has come to.</summary>
    public int Tables => _begins.Count;

    /// <summary>The rows of a table that match, and do not end the walk.</summary>
    public ReadOnlySpan<PolicyRow> RowsOf(int table) =>
        CollectionsMarshal.AsSpan(_rows)[_begins[table]..(table + 1 < _begins.Count ? _begins[table + 1] : _rows.Count)];

    /// <summary>Begins a walk.</summary>
    public void Begin()
    {
        Passed = null;
        RetryAfterSeconds = null;
        _rows.Clear();
        _begins.Clear();
    }

    /// <summary>The request comes to the next table.</summary>
    public void BeginTable() => _begins.Add(_rows.Count);

    /// <summary>A row of this table matches.</summary>
    public void Add(PolicyRow row) => _rows.Add(row);
}
