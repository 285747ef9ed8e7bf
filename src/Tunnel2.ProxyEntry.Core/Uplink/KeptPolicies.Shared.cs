using Tunnel2.Policies.Tables;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Policies;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Uplink;

/// <content>
/// Changes of policies, and the policies of a cluster: there the database has them, and the folder is this node's copy, with which it goes
/// on while the database is away.
/// </content>
internal sealed partial class KeptPolicies : ISharedContent
{
    /// <summary>What the database calls them.</summary>
    public const string SharedKind = "policies";

    private readonly SharedCopy? _shared;
    private readonly Dictionary<string, long> _versions = new(StringComparer.Ordinal);
    private bool _isCopy;

    /// <summary>Keeps a policy in place of the one that the target had. It holds for running sessions too, which go on.</summary>
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
    IReadOnlyList<SharedDocument> ISharedContent.Own()
    {
        lock (_gate)
        {
            // One that cannot be used closes its tunnels, and must not open them because the node joins a cluster.
            return
            [
                .. _table.All.Select(static one => new SharedDocument(
                    one.Target.ToString(), (one.Unused.IsEmpty ? one.Policy.Text : one.Unused).ToArray(), Touched: one.Changed)),
            ];
        }
    }

    /// <inheritdoc/>
    int ISharedContent.Apply(IReadOnlyList<SharedDocument> documents)
    {
        int count;
        lock (_gate)
        {
            if (_isCopy && documents.Count == _versions.Count
                && documents.All(document => _versions.TryGetValue(document.Key, out var version) && version == document.Version))
            {
                return 0;
            }

            FollowUnsynchronized(documents);
            count = _table.All.Length;
        }

        var ended = _sessions.SettleAll();
        ProxyEntryLog.PoliciesRead(_logger, count, _store.Folder);
        return ended;
    }

    private void FollowUnsynchronized(IReadOnlyList<SharedDocument> documents)
    {
        var refused = new List<(string Target, string Reason)>();
        var policies = new List<KeptPolicy>();
        foreach (var document in documents)
        {
            if (PolicyStore.TryReadTarget(document.Key, out var target) && policies.Count < PolicyStore.MaxPolicies)
            {
                policies.Add(_store.Read(target, document.Value, document.Touched ?? DateTimeOffset.MinValue));
            }
            else
            {
                // A key that no node has written goes into no line of the log.
                refused.Add(("?", "its row in the cluster's database has a key that is none of a policy"));
            }
        }

        CopyUnsynchronized(policies, documents);
        TakeUnsynchronized(policies, refused);
        _isCopy = true;
        _versions.Clear();
        foreach (var document in documents)
        {
            _versions[document.Key] = document.Version;
        }
    }

    /// <summary>Makes the folder the copy. Where that fails, the policies are in force all the same, until this process ends.</summary>
    private void CopyUnsynchronized(List<KeptPolicy> policies, IReadOnlyList<SharedDocument> documents)
    {
        var bytes = documents.ToDictionary(static document => document.Key, static document => document.Value, StringComparer.Ordinal);
        try
        {
            // As the files are, which may be other ones than those in force: this node's own, before it joined.
            var kept = _store.Load().ToDictionary(static one => one.Target);
            foreach (var target in kept.Keys.Except(policies.Select(static one => one.Target)))
            {
                _store.Delete(target);
            }

            foreach (var policy in policies)
            {
                var value = bytes[policy.Target.ToString()];
                if (!kept.TryGetValue(policy.Target, out var before) || before.Problem is not null || !before.IsSameAs(policy))
                {
                    _store.Save(policy.Target, value, policy.Changed);
                }
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            SharingLog.SharedCopyNotKept(_logger, SharedKind, _store.Folder, exception.Message);
        }
    }
}
