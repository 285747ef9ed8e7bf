using System.Threading.Channels;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>The one live subscriber of the ancestor's benchmark: every change goes into its queue, which is emptied outside the clock.</summary>
internal sealed class LiveSubscriber : IMessageObserver<int>
{
    private readonly Channel<int> _queue = Channel.CreateUnbounded<int>(new UnboundedChannelOptions { SingleReader = true });

    public void OnSet(string key, int value) => _queue.Writer.TryWrite(value);

    public void OnDeleted(string key) => _queue.Writer.TryWrite(-1);

    public void OnReset() => _queue.Writer.TryWrite(-1);

    /// <summary>Empties the queue.</summary>
    /// <returns>How many changes were in it.</returns>
    public int Drain()
    {
        int count = 0;
        while (_queue.Reader.TryRead(out _))
        {
            count++;
        }

        return count;
    }
}
