using Tunnel2.Policies.Tables;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Policies;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Uplink;

/// <content>
/// Changes of policies, and the policies of a cluster: there the database has them, and the folder is this node's copy, with which it
/// continues while the database is away.
/// </content>
internal sealed partial class KeptPolicies : ISharedValues<KeptPolicy>
{
    /// <summary>What the database calls them.</summary>
    public const string SharedKind = "policies";

    private readonly SharedCopy? _shared;
    private bool _isCopy;

    /// <summary>Keeps a policy in place of the one that the target had. It holds for running sessions too, which continue.</summary>
    /// <exception cref="IOException">It cannot be written; then nothing has changed.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not write there; then nothing has changed.</exception>
    /// <exception cref="SharedUnavailableException">The cluster's database is not available.</exception>
    public async ValueTask<PolicyChange> SetAsync(
        PolicyTarget target, Policy policy, CancellationToken cancellationToken = default)
    {
        if (_shared is null)
        {
            return SetAlone(target, policy);
        }

        // While the copy is known to be that of the database: otherwise a change that is needed could be taken for none.
        if (_shared.Trouble is null && Current.Find(target) is { Problem: null } before && before.Policy.IsSameAs(policy))
        {
            return PolicyChange.Same;
        }

        var document = new SharedDocument(target.ToString(), policy.Text.ToArray());
        return (await _shared.PutAsync(document, cancellationToken).ConfigureAwait(false)).Outcome == SharedOutcome.TooMany
            ? PolicyChange.TooMany
            : PolicyChange.Set;
    }

    /// <summary>Removes the policy of a target.</summary>
    /// <returns>Whether there was one.</returns>
    /// <exception cref="IOException">It cannot be removed; then it stays in force.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not remove it; then it stays in force.</exception>
    /// <exception cref="SharedUnavailableException">The cluster's database is not available.</exception>
    public async ValueTask<bool> RemoveAsync(PolicyTarget target, CancellationToken cancellationToken = default) => _shared is null
        ? RemoveAlone(target) is not null
        : (await _shared.RemoveAsync(target.ToString(), cancellationToken).ConfigureAwait(false)).Outcome == SharedOutcome.Done;

    /// <inheritdoc/>
    public void Dispose() => _shared?.Dispose();

    /// <inheritdoc/>
    IReadOnlyList<SharedDocument> ISharedValues<KeptPolicy>.Own =>
        [.. _table.All.Select(static one => new SharedDocument(one.Target.ToString(), TextOf(one).ToArray(), Touched: one.Changed))];

    /// <inheritdoc/>
    KeptPolicy? ISharedValues<KeptPolicy>.Read(SharedDocument document, out string reason)
    {
        reason = "its row in the cluster's database has a key that is none of a policy";
        return PolicyStore.TryReadTarget(document.Key, out var target)
            ? _store.Read(target, document.Value, document.Touched ?? DateTimeOffset.MinValue)
            : null;
    }

    /// <inheritdoc/>
    IReadOnlyDictionary<string, KeptPolicy> ISharedValues<KeptPolicy>.Load() =>
        _store.Load().ToDictionary(static one => one.Target.ToString(), StringComparer.Ordinal);

    /// <inheritdoc/>
    bool ISharedValues<KeptPolicy>.IsSame(KeptPolicy kept, KeptPolicy wanted) => kept.Problem is null && kept.IsSameAs(wanted);

    /// <inheritdoc/>
    void ISharedValues<KeptPolicy>.Save(KeptPolicy value) => _store.Save(value.Target, TextOf(value).Span, value.Changed);

    /// <inheritdoc/>
    void ISharedValues<KeptPolicy>.Delete(KeptPolicy value) => _store.Delete(value.Target);

    /// <inheritdoc/>
    bool ISharedValues<KeptPolicy>.Use(IReadOnlyList<SharedValue<KeptPolicy>> values)
    {
        // A key that no node has written goes into no line of the log.
        var isChanged = TakeUnsynchronized(
            [.. values.Select(static one => one.Value).OfType<KeptPolicy>()],
            values.Where(static one => one.Value is null).Select(static one => ("?", one.Reason)));
        isChanged |= !_isCopy;
        _isCopy = true;
        return isChanged;
    }

    /// <inheritdoc/>
    int ISharedValues<KeptPolicy>.OnUsed()
    {
        var ended = _sessions.SettleAll();
        ProxyEntryLog.PoliciesRead(_logger, Current.All.Length, _store.Folder);
        return ended;
    }

    /// <summary>One that cannot be used closes its tunnels, and must not open them because the node joins a cluster.</summary>
    private static ReadOnlyMemory<byte> TextOf(KeptPolicy policy) => policy.Unused.IsEmpty ? policy.Policy.Text : policy.Unused;
}
