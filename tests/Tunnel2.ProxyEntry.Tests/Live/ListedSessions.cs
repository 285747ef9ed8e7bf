using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Tests.Live;

/// <summary>A directory that has what the test says.</summary>
internal sealed class ListedSessions : ISessionDirectory
{
    public event Action<EntrySession>? Registered
    {
        add { }
        remove { }
    }

    public List<EntrySession> All { get; } = [];

    public int Count => All.Count;

    public IReadOnlyList<EntrySession> Snapshot() => [.. All];

    public ValueTask<RegistrationResult> RegisterAsync(EntrySession session, CancellationToken cancellationToken) =>
        throw new NotSupportedException();

    public ValueTask MarkHandingOverAsync(string name, long epoch, CancellationToken cancellationToken) =>
        throw new NotSupportedException();

    public ValueTask MarkLeavingAsync(string name, long epoch, CancellationToken cancellationToken) => throw new NotSupportedException();

    public ValueTask UnregisterAsync(string name, long epoch, bool isKept, CancellationToken cancellationToken) =>
        throw new NotSupportedException();

    public void ReportHealth(EntrySession session) => throw new NotSupportedException();

    public NameState Find(ReadOnlySpan<char> name, out EntrySession? session) => throw new NotSupportedException();

    public NameAbsence GetAbsence(ReadOnlySpan<char> name) => throw new NotSupportedException();
}
