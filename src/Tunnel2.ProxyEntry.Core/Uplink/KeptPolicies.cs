using Tunnel2.Policies.Tables;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Policies;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>
/// The policies that the server keeps, beside those of the settings: set and removed while it runs, with effect at once. The reload loop
/// has it look for changes of the folder by another process. Thread-safe.
/// </summary>
internal sealed partial class KeptPolicies : IReloadable, IDisposable
{
    private readonly Lock _gate = new(); // Files are written with it held; only administrators and the reload loop wait for it.
    private readonly PolicyStore _store;
    private readonly AgentRegistry _agents;
    private readonly SessionRevocation _sessions;
    private readonly ILogger _logger;
    private KeptPolicyTable _table = KeptPolicyTable.Empty;
    private string? _stamp = "";
    private string _reported = "";

    public KeptPolicies(
        ProxyEntrySettings settings,
        AgentRegistry agents,
        SessionRevocation sessions,
        ILogger<KeptPolicies> logger,
        ISharedDocuments? shared = null)
    {
        _store = new PolicyStore(settings.StateFolder, settings.CountryHeader is not null);
        _agents = agents;
        _sessions = sessions;
        _logger = logger;
        _shared = shared is null
            ? null
            : new SharedCopy(
                shared, SharedKind, PolicyStore.MaxPolicies, settings.StateFolder,
                new SharedValues<KeptPolicy>(SharedKind, PolicyStore.MaxPolicies, _store.Folder, _gate, this, logger), logger);
    }

    /// <summary>All of them.</summary>
    public KeptPolicyTable Current
    {
        get
        {
            lock (_gate)
            {
                return _table;
            }
        }
    }

    /// <summary>Reads what is kept. Once, before the first agent.</summary>
    /// <exception cref="IOException">The folder is there and cannot be read: without its policies no tunnel may begin.</exception>
    public void Load()
    {
        try
        {
            lock (_gate)
            {
                if (TakeUnsynchronized())
                {
                    ProxyEntryLog.PoliciesRead(_logger, _table.All.Length, _store.Folder);
                }
            }
        }
        catch (UnauthorizedAccessException exception)
        {
            throw new IOException($"The policies in {_store.Folder} cannot be read: {exception.Message}", exception);
        }
    }

    /// <summary>Keeps a policy in place of the one that the target had. It holds for running sessions too, which continue.</summary>
    /// <exception cref="IOException">It cannot be written; then nothing has changed.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not write there; then nothing has changed.</exception>
    private PolicyChange SetAlone(PolicyTarget target, Policy policy)
    {
        lock (_gate)
        {
            if (_table.Find(target) is not { } before)
            {
                if (_table.All.Length >= PolicyStore.MaxPolicies)
                {
                    return PolicyChange.TooMany;
                }
            }
            else if (before.Problem is null && before.Policy.IsSameAs(policy))
            {
                return PolicyChange.Same;
            }

            _store.Save(target, policy);
            ReadUnsynchronized();
        }

        _sessions.SettleAll();
        return PolicyChange.Set;
    }

    /// <summary>Removes the policy of a target.</summary>
    /// <returns>It; null where there is none.</returns>
    /// <exception cref="IOException">It cannot be removed; then it stays in force.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not remove it; then it stays in force.</exception>
    private KeptPolicy? RemoveAlone(PolicyTarget target)
    {
        KeptPolicy? removed;
        lock (_gate)
        {
            removed = _table.Find(target);
            if (removed is null)
            {
                return null;
            }

            _store.Delete(target);
            ReadUnsynchronized();
        }

        _sessions.SettleAll();
        return removed;
    }

    /// <inheritdoc/>
    public void ReloadIfChanged()
    {
        int count;
        lock (_gate)
        {
            if (_isCopy || _store.Stamp() is not { } stamp || stamp == _stamp || !ReadUnsynchronized())
            {
                return;
            }

            count = _table.All.Length;
        }

        _sessions.SettleAll();
        ProxyEntryLog.PoliciesRead(_logger, count, _store.Folder);
    }

    /// <summary>Reads the folder; where that fails, what was read before stays in force, and the next look tries again.</summary>
    /// <returns>Whether there are other policies than before.</returns>
    private bool ReadUnsynchronized()
    {
        try
        {
            return TakeUnsynchronized();
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            if (_reported != exception.Message)
            {
                _reported = exception.Message;
                ProxyEntryLog.PoliciesNotRead(_logger, _store.Folder, exception.Message);
            }

            return false;
        }
    }

    private bool TakeUnsynchronized()
    {
        // Before the reading: what changes during it is seen by the next look.
        var stamp = _store.Stamp();
        var policies = _store.Load();
        _stamp = stamp;
        return TakeUnsynchronized(policies, []);
    }

    private bool TakeUnsynchronized(IReadOnlyList<KeptPolicy> policies, IEnumerable<(string Target, string Reason)> refused)
    {
        var table = new KeptPolicyTable(policies);
        ReportUnsynchronized(
            [
                .. table.All.Where(static one => one.Problem is not null)
                    .Select(static one => (one.Target.ToString(), one.Problem!)).Order(),
                .. refused,
            ]);
        var isSame = table.All.Length == _table.All.Length && table.All.All(one => _table.Find(one.Target)?.IsSameAs(one) == true);
        if (isSame && table.All.All(one => _table.Find(one.Target)!.Changed == one.Changed))
        {
            return false;
        }

        _table = table;
        if (isSame)
        {
            return false;
        }

        _agents.ReplacePolicies(table);
        return true;
    }

    /// <summary>Each mistake once, until it is another one.</summary>
    private void ReportUnsynchronized(List<(string Target, string Reason)> refused)
    {
        var words = string.Join('\n', refused);
        if (words == _reported)
        {
            return;
        }

        _reported = words;
        foreach (var (target, reason) in refused)
        {
            ProxyEntryLog.PolicyRefused(_logger, target, reason);
        }
    }
}
