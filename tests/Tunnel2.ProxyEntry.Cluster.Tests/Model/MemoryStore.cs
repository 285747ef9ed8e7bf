using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Model;

/// <summary>A node's way to the tables, which may be cut. Calls end at once.</summary>
internal sealed class MemoryStore(MemoryTables tables) : IClusterStore
{
    /// <summary>Why calls fail; null: they work.</summary>
    public string? Trouble { get; set; }

    /// <summary>Whether calls that fail have an effect: the answer was lost, not the question.</summary>
    public bool LosesAnswers { get; set; }

    /// <summary>How many calls still work before those that <see cref="Trouble"/> fails.</summary>
    public int WorksFor { get; set; }

    /// <summary>Ends a claim, before it has an effect.</summary>
    public Task? HoldClaims { get; set; }

    /// <summary>Claims that were begun.</summary>
    public AsyncCounter Claims { get; } = new("claims");

    /// <summary>Calls so far, with those that failed.</summary>
    public int Calls { get; private set; }

    /// <summary>Ends a look-up, in place of its answer.</summary>
    public Task? Hold { get; set; }

    public Task PrepareAsync(CancellationToken cancellationToken) => Run(static () => true);

    public Task<NodeLease?> AcquireAsync(
        NodeFacts node, TimeSpan lease, bool isFirst, long floor, CancellationToken cancellationToken) =>
        Run(() => tables.Acquire(node, lease, isFirst, floor));

    public Task<bool> RenewAsync(
        NodeFacts node, NodeLease held, TimeSpan lease, long floor, CancellationToken cancellationToken) =>
        Run(() => tables.Renew(node, held, lease, floor));

    public Task ReleaseAsync(NodeLease held, CancellationToken cancellationToken) => Run(() =>
    {
        tables.Release(held);
        return true;
    });

    public async Task<ClaimResult> ClaimAsync(NodeLease held, NameClaim claim, CancellationToken cancellationToken)
    {
        Claims.Increment();
        await (HoldClaims ?? Task.CompletedTask);
        return await Run(() => tables.Put(held, claim, false));
    }

    public Task<IReadOnlyList<ClaimResult>> PublishAsync(
        NodeLease held, IReadOnlyList<NameClaim> claims, CancellationToken cancellationToken) =>
        Run<IReadOnlyList<ClaimResult>>(() => [.. claims.Select(claim => tables.Put(held, claim, true))]);

    public Task ChangeAsync(NodeLease held, IReadOnlyList<NameChange> changes, CancellationToken cancellationToken) => Run(() =>
    {
        foreach (var change in changes)
        {
            tables.Change(held, change);
        }

        return true;
    });

    public async Task<LocatedName> LocateAsync(string name, CancellationToken cancellationToken)
    {
        if (Hold is { } hold)
        {
            Calls++;
            await hold;
            lock (tables)
            {
                return tables.Locate(name);
            }
        }

        return await Run(() => tables.Locate(name));
    }

    public Task<byte[]?> FindOwnerAsync(string name, CancellationToken cancellationToken) => Run(() => tables.FindOwner(name));

    public Task<NameSum> SumAsync(NodeLease held, CancellationToken cancellationToken) => Run(() =>
    {
        var list = tables.List(held);
        return new NameSum(list.Count, list.Sum(static row => row.Epoch % NameSum.Modulus));
    });

    public Task<IReadOnlyList<(string Name, long Epoch, bool IsShared)>> ListAsync(NodeLease held, CancellationToken cancellationToken) =>
        Run(() => tables.List(held));

    public Task<IReadOnlyList<NodeStatus>> ListNodesAsync(CancellationToken cancellationToken) => Run(tables.ListNodes);

    public Task TidyAsync(CancellationToken cancellationToken) => Run(static () => true);

    /// <summary>What a look around finds.</summary>
    public NodeSurroundings Around { get; set; } = new(false, []);

    public Task<NodeSurroundings> LookAroundAsync(string node, CancellationToken cancellationToken) => Run(() => Around);

    public Task<bool> SetDrainedAsync(string node, bool isDrained, CancellationToken cancellationToken) =>
        throw new NotSupportedException("Operators use the database.");

    public Task ListenAsync(
        Action listening, Action<NameNotice> heard, Action<string> asked, Action<string> shared, CancellationToken cancellationToken) =>
        throw new NotSupportedException("Tests deliver notices themselves.");

    public ValueTask DisposeAsync() => default;

    private Task<T> Run<T>(Func<T> call)
    {
        // Calls may come at once; the tables take one after the other.
        lock (tables)
        {
            Calls++;
            if (Trouble is null || WorksFor-- > 0)
            {
                return Task.FromResult(call());
            }

            if (LosesAnswers)
            {
                call();
            }
        }

        return Task.FromException<T>(new StoreUnavailableException(Trouble));
    }
}
