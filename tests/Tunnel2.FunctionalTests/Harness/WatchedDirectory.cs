using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>
/// A directory of which a test can hear: each change, and each look at all of it, is counted once it is done. Thread-safe.
/// </summary>
internal sealed class WatchedDirectory(ISessionDirectory inner) : ISessionDirectory
{
    public event Action<EntrySession>? Registered
    {
        add => inner.Registered += value;
        remove => inner.Registered -= value;
    }

    /// <summary>Changes so far.</summary>
    public AsyncCounter Changes { get; init; } = new("changes of the directory");

    /// <summary>Agents that have said that they are about to stop and serve on until then.</summary>
    public AsyncCounter HandOvers { get; } = new("agents that hand over");

    /// <summary>How often all sessions were asked for.</summary>
    public AsyncCounter Looks { get; } = new("looks at the directory");

    public int Count => inner.Count;

    public async ValueTask<RegistrationResult> RegisterAsync(EntrySession session, CancellationToken cancellationToken)
    {
        var result = await inner.RegisterAsync(session, cancellationToken);
        Changes.Increment();
        return result;
    }

    public async ValueTask MarkHandingOverAsync(string name, long epoch, CancellationToken cancellationToken)
    {
        await inner.MarkHandingOverAsync(name, epoch, cancellationToken);
        HandOvers.Increment();
        Changes.Increment();
    }

    public async ValueTask MarkLeavingAsync(string name, long epoch, CancellationToken cancellationToken)
    {
        await inner.MarkLeavingAsync(name, epoch, cancellationToken);
        Changes.Increment();
    }

    public async ValueTask UnregisterAsync(string name, long epoch, bool isKept, CancellationToken cancellationToken)
    {
        await inner.UnregisterAsync(name, epoch, isKept, cancellationToken);
        Changes.Increment();
    }

    public void ReportHealth(EntrySession session) => inner.ReportHealth(session);

    public NameState Find(ReadOnlySpan<char> name, out EntrySession? session) => inner.Find(name, out session);

    public NameAbsence GetAbsence(ReadOnlySpan<char> name) => inner.GetAbsence(name);

    public IReadOnlyList<EntrySession> Snapshot()
    {
        var sessions = inner.Snapshot();
        Looks.Increment();
        return sessions;
    }
}
