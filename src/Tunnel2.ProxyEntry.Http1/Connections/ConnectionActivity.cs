namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// Connection feature: whether one of Kestrel's connections has a running request, and since when it has none. When there are too many
/// connections, those without a request are ended first. Thread-safe.
/// </summary>
internal sealed class ConnectionActivity
{
    private readonly TimeProvider _timeProvider;
    private long _since;
    private int _requests;
    private volatile bool _hasServed;

    public ConnectionActivity(TimeProvider timeProvider)
    {
        _timeProvider = timeProvider;
        _since = timeProvider.GetTimestamp();
    }

    /// <summary>Whether it has served a request.</summary>
    public bool HasServed => _hasServed;

    /// <summary>Whether it was already asked to close.</summary>
    public bool IsAskedToClose { get; set; }

    /// <summary>Asks it to close after its requests.</summary>
    public Action? Close { private get; init; }

    /// <summary>Asks it to close, because its place is needed; once it has no request it may be cut.</summary>
    public void GiveUpPlace()
    {
        IsAskedToClose = true;
        Close?.Invoke();
    }

    /// <summary>A request begins, or other code decides about the connection from now on; <see cref="RequestEnded"/> must follow.</summary>
    public void RequestBegan()
    {
        _hasServed = true;
        Interlocked.Increment(ref _requests);
    }

    /// <summary>A request has ended.</summary>
    public void RequestEnded()
    {
        Volatile.Write(ref _since, _timeProvider.GetTimestamp());
        Interlocked.Decrement(ref _requests);
    }

    /// <summary>How long it has had no request; null while it has one.</summary>
    public TimeSpan? Idle => Volatile.Read(ref _requests) == 0 ? _timeProvider.GetElapsedTime(Volatile.Read(ref _since)) : null;
}
