namespace Tunnel2.Embed;

/// <summary>
/// The public URLs of a tunnel, a singleton of the host's services; with several tunnels there is one for each, in the order of the calls
/// that added them. Thread-safe.
/// </summary>
public sealed class Tunnel2Urls
{
    private readonly Lock _gate = new();
    private TaskCompletionSource<Uri> _open = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private volatile IReadOnlyList<Uri> _all = [];

    internal Tunnel2Urls()
    {
    }

    /// <summary>The tunnel's public name; empty before the host has started.</summary>
    public string Name { get; internal set; } = "";

    /// <summary>All URLs, the main one first. They stay when the tunnel is interrupted; empty before it has opened once.</summary>
    public IReadOnlyList<Uri> All => _all;

    /// <summary>The main URL; null before the tunnel has opened once.</summary>
    public Uri? PublicUrl => _all is [var main, ..] ? main : null;

    /// <summary>Whether the tunnel is open now: a request to a URL reaches the program.</summary>
    public bool IsOpen { get; private set; }

    /// <summary>Waits until the tunnel is open; at once where it is.</summary>
    /// <param name="cancellationToken">Gives up.</param>
    /// <returns>The main URL.</returns>
    /// <exception cref="OperationCanceledException">Gave up, or the host has stopped.</exception>
    public Task<Uri> WaitAsync(CancellationToken cancellationToken = default)
    {
        lock (_gate)
        {
            return _open.Task.WaitAsync(cancellationToken);
        }
    }

    /// <summary>The tunnel is open.</summary>
    internal void Open(IEnumerable<string> urls)
    {
        Uri[] all = [.. urls.Select(static text => Uri.TryCreate(text, UriKind.Absolute, out var url) ? url : null).OfType<Uri>()];
        lock (_gate)
        {
            _all = all;
            IsOpen = true;
            if (all is [var main, ..] && !_open.TrySetResult(main))
            {
                _open = NewWait();
                _open.SetResult(main);
            }
        }
    }

    /// <summary>The tunnel is interrupted.</summary>
    internal void Close()
    {
        lock (_gate)
        {
            IsOpen = false;
            if (_open.Task.IsCompletedSuccessfully)
            {
                _open = NewWait();
            }
        }
    }

    /// <summary>The tunnel is closed for good.</summary>
    internal void End()
    {
        lock (_gate)
        {
            IsOpen = false;
            if (!_open.TrySetCanceled())
            {
                _open = NewWait();
                _open.SetCanceled();
            }
        }
    }

    private static TaskCompletionSource<Uri> NewWait() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}
