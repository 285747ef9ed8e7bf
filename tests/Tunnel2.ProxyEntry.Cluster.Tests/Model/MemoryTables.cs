using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Model;

/// <summary>What the database should do, as plainly as can be said: the reference for both directories and statements.</summary>
internal sealed class MemoryTables(ManualTimeProvider clock)
{
    private Dictionary<string, NodeRow> _nodes = [];
    private Dictionary<string, NameRow[]> _names = [];
    private long _sequence;

    /// <summary>Raised with each change.</summary>
    public event Action<NameNotice>? Changed;

    /// <summary>Every epoch that was ever given, with its name: none may be given twice.</summary>
    public HashSet<(string Name, long Epoch)> Given { get; } = [];

    /// <summary>The names with their newest registrations, as a test looks at them.</summary>
    public IReadOnlyDictionary<string, NameRow> Names => _names.ToDictionary(
        static pair => pair.Key, static pair => pair.Value.MaxBy(static row => row.Epoch)!);

    /// <summary>The registrations of a name that count.</summary>
    public IReadOnlyList<NameRow> Serving(string name) =>
        [.. RowsOf(name).Where(row => row.State != StoredState.Left && Lives(row.Node, row.Incarnation))];

    private DateTimeOffset Now => clock.GetUtcNow();

    public NodeLease? Acquire(NodeFacts node, TimeSpan lease, bool isFirst, long floor)
    {
        Raise(floor);
        if (!isFirst && _nodes.TryGetValue(node.Node, out var present) && present.Process != node.Process && present.LeaseUntil > Now)
        {
            return null;
        }

        _nodes[node.Node] = new NodeRow(node.Process, ++_sequence, node.LinkAddress, node.Version, Now + lease, Now);
        return new NodeLease(node.Node, _sequence);
    }

    public bool Renew(NodeFacts node, NodeLease held, TimeSpan lease, long floor)
    {
        if (!Lives(held.Node, held.Incarnation) || _nodes[held.Node].Process != node.Process)
        {
            return false;
        }

        _nodes[held.Node] = _nodes[held.Node] with { LeaseUntil = Now + lease };
        Raise(floor);
        return true;
    }

    public void Release(NodeLease held)
    {
        if (_nodes.TryGetValue(held.Node, out var row) && row.Incarnation == held.Incarnation)
        {
            _nodes[held.Node] = row with { LeaseUntil = Now };
        }
    }

    public ClaimResult Put(NodeLease held, NameClaim claim, bool isPublished)
    {
        if (!Lives(held.Node, held.Incarnation))
        {
            return new ClaimResult(claim.Name, ClaimStatus.LeaseLost);
        }

        var rows = RowsOf(claim.Name);
        foreach (var row in rows.OrderBy(static row => row.State).ThenByDescending(static row => row.Epoch))
        {
            if (Judge(held, claim, row, isPublished) is { } refusal)
            {
                return refusal;
            }
        }

        // Those that belong together stay, but for the one whose place it is.
        _names[claim.Name] =
        [
            .. rows.Where(row => NameShare.AreBeside(row.Claim.Share, claim.Share)),
            new NameRow(held.Node, held.Incarnation, ++_sequence, claim, StoredState.Online, Now),
        ];
        Assert.True(Given.Add((claim.Name, _sequence)), $"The epoch {_sequence} of {claim.Name} was given twice.");
        Changed?.Invoke(new NameNotice(
            StoredState.Online, claim.Name, held.Node, _sequence, _nodes[held.Node].LinkAddress, claim.Instance, claim.Share));
        return new ClaimResult(claim.Name, ClaimStatus.Claimed, _sequence);
    }

    public void Change(NodeLease held, NameChange change)
    {
        var rows = RowsOf(change.Name);
        var index = Array.FindIndex(
            rows, row => row.Node == held.Node && row.Epoch == change.Epoch && row.Claim.Share is null == change.IsHealthy is null);
        if (index < 0)
        {
            return;
        }

        var row = rows[index];
        row = row with
        {
            State = change.State,
            KeptUntil = Now + change.KeptFor,
            Claim = row.Claim with { Share = row.Claim.Share is { } share ? share with { IsHealthy = change.IsHealthy!.Value } : null },
        };
        _names[change.Name] = [.. rows[..index], row, .. rows[(index + 1)..]];
        Changed?.Invoke(new NameNotice(change.State, change.Name, row.Node, row.Epoch, "", row.Claim.Instance, row.Claim.Share));
    }

    public LocatedName Locate(string name)
    {
        var serving = Serving(name);
        return serving.Count > 0
            ? new LocatedName(new NodePlaces(
                HexOf(serving[0].Claim.Share?.Group),
                serving.Select(row => new NodePlace(
                    new NodeLocation(row.Node, _nodes[row.Node].LinkAddress, row.Epoch), HexOf(row.Claim.Share?.Member),
                    row.Claim.Share?.IsHealthy ?? true, row.State == StoredState.HandingOver, row.Claim.Weight))))
            : RowsOf(name) is [_, ..] rows
                ? new LocatedName(null, rows.Max(row => AwaitedUntil(row) is var until && until > Now ? until - Now : TimeSpan.Zero))
                : default;
    }

    public byte[]? FindOwner(string name) => Serving(name) is [var first, ..] ? first.Claim.Owner : null;

    public IReadOnlyList<(string Name, long Epoch, bool IsShared)> List(NodeLease held) =>
    [
        .. _names.SelectMany(static pair => pair.Value.Select(row => (pair.Key, Row: row)))
            .Where(pair => pair.Row.State != StoredState.Left && pair.Row.Node == held.Node && pair.Row.Incarnation == held.Incarnation)
            .Select(static pair => (pair.Key, pair.Row.Epoch, pair.Row.Claim.Share is not null)),
    ];

    public IReadOnlyList<NodeStatus> ListNodes() =>
    [
        .. _nodes.OrderBy(static pair => pair.Key, StringComparer.Ordinal).Select(pair => new NodeStatus(
            pair.Key, pair.Value.LinkAddress, pair.Value.Version, pair.Value.LeaseUntil - Now,
            List(new NodeLease(pair.Key, pair.Value.Incarnation)).Count)),
    ];

    /// <summary>A copy that can be put back.</summary>
    public (Dictionary<string, NodeRow> Nodes, Dictionary<string, NameRow[]> Names, long Sequence) Copy() =>
        (new(_nodes), new(_names), _sequence);

    /// <summary>Puts a copy back, as an operator does with yesterday's.</summary>
    public void Restore((Dictionary<string, NodeRow> Nodes, Dictionary<string, NameRow[]> Names, long Sequence) copy) =>
        (_nodes, _names, _sequence) = (new(copy.Nodes), new(copy.Names), copy.Sequence);

    /// <summary>Empties the tables; the sequence continues.</summary>
    public void Truncate(bool withNodes)
    {
        _names = [];
        if (withNodes)
        {
            _nodes = [];
        }
    }

    /// <summary>Why a registration is not made because of one that is there; null: that one does not prevent it.</summary>
    private ClaimResult? Judge(NodeLease held, NameClaim claim, NameRow row, bool isPublished)
    {
        var isSamePlace = NameShare.IsOneGroup(row.Claim.Share, claim.Share);
        var lives = row.State != StoredState.Left && Lives(row.Node, row.Incarnation);
        if (NameShare.AreBeside(row.Claim.Share, claim.Share) || (isSamePlace && !isPublished))
        {
            return null;
        }

        if (isPublished && (row.Epoch <= claim.Base || (row.Node == held.Node && row.Incarnation == held.Incarnation)))
        {
            return null;
        }

        var isOwner = row.Claim.Owner.SequenceEqual(claim.Owner);
        if (row.State == StoredState.Left ? isSamePlace || row.KeptUntil <= Now || isOwner : !lives)
        {
            return null;
        }

        if (!isPublished && row.State == StoredState.Online && isOwner
            && (row.Claim.Share is { IsPool: true } || claim.Share is { IsPool: true }))
        {
            var status = row.Claim.Share is not { IsPool: true } ? ClaimStatus.HeldAlone
                : claim.Share is not { IsPool: true } ? ClaimStatus.HeldByPool
                : ClaimStatus.OtherTerms;
            return new ClaimResult(claim.Name, status, row.Epoch, Node: row.Node, Instance: row.Claim.Instance);
        }

        return !isPublished && row.State != StoredState.Left
            && (row.Claim.Identity.SequenceEqual(claim.Identity) || (row.State == StoredState.HandingOver && isOwner))
            ? null
            : new ClaimResult(
                claim.Name, ClaimStatus.Taken, row.Epoch,
                row.State == StoredState.Left && row.KeptUntil > Now ? row.KeptUntil - Now : TimeSpan.Zero, row.Node, row.Claim.Instance,
                isOwner && row.State == StoredState.Online && !isPublished ? _nodes[row.Node].LeaseUntil - Now : TimeSpan.Zero);
    }

    private static string HexOf(byte[]? bytes) => bytes is null ? "" : Convert.ToHexStringLower(bytes);

    private NameRow[] RowsOf(string name) => _names.GetValueOrDefault(name) ?? [];

    private bool Lives(string node, long incarnation) =>
        _nodes.TryGetValue(node, out var row) && row.Incarnation == incarnation && row.LeaseUntil > Now;

    private DateTimeOffset AwaitedUntil(NameRow row) =>
        row.State == StoredState.Left ? row.KeptUntil
        : !_nodes.TryGetValue(row.Node, out var node) ? Now
        : (node.Incarnation == row.Incarnation ? node.LeaseUntil : node.JoinedAt) + TimeSpan.FromSeconds(10);

    private void Raise(long floor) => _sequence = Math.Max(_sequence, Math.Max(floor, Now.ToUnixTimeSeconds() * 1_000_000));

    internal sealed record NodeRow(
        Guid Process, long Incarnation, string LinkAddress, string Version, DateTimeOffset LeaseUntil, DateTimeOffset JoinedAt);

    internal sealed record NameRow(
        string Node, long Incarnation, long Epoch, NameClaim Claim, StoredState State, DateTimeOffset KeptUntil);
}
