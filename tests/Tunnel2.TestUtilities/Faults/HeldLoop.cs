using Tunnel2.Transport.Epoll;

namespace Tunnel2.TestUtilities;

/// <summary>An event loop whose thread is kept in a callback until this is released.</summary>
internal sealed class HeldLoop : IAsyncDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(60);

    private readonly ManualResetEventSlim _until = new();
    private readonly TaskCompletionSource _held = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _left = new(TaskCreationOptions.RunContinuationsAsynchronously);

    private HeldLoop()
    {
    }

    /// <summary>Keeps a loop's thread.</summary>
    /// <returns>Completes when the thread is kept.</returns>
    public static async Task<HeldLoop> HoldAsync(EpollLoop loop)
    {
        var held = new HeldLoop();
        loop.Schedule(static state => ((HeldLoop)state!).Hold(), held);
        await held._held.Task.WaitAsync(_limit);
        return held;
    }

    /// <summary>Lets the thread continue. May be called more than once.</summary>
    public void Release() => _until.Set();

    /// <summary>Lets the thread continue, and waits until it has left the callback: it needs the event until then.</summary>
    public async ValueTask DisposeAsync()
    {
        Release();
        await _left.Task.WaitAsync(_limit);
        _until.Dispose();
    }

    private void Hold()
    {
        _held.SetResult();
        _until.Wait(_limit);
        _left.SetResult();
    }
}
