using Tunnel2.Inspection.Messages;

namespace Tunnel2.Inspection.Capture;

/// <summary>The last messages of an exchange. Thread-safe; nothing waits under its lock.</summary>
internal sealed class MessageLog
{
    private readonly Lock _gate = new();
    private readonly Queue<CapturedMessage> _messages = new();
    private long _count;
    private bool _isReleased;

    /// <summary>How many messages passed, the dropped ones too.</summary>
    public long Count
    {
        get
        {
            lock (_gate)
            {
                return _count;
            }
        }
    }

    /// <summary>Adds a message whose memory was reserved.</summary>
    /// <param name="make">Makes the message from its number; null: it is counted only.</param>
    /// <param name="most">How many are kept.</param>
    /// <returns>What the dropped ones had reserved, in bytes.</returns>
    public int Add(Func<long, CapturedMessage>? make, int most)
    {
        lock (_gate)
        {
            _count++;
            if (make is null || _isReleased)
            {
                return 0;
            }

            var freed = 0;
            while (_messages.Count >= most)
            {
                freed += _messages.Dequeue().Cost;
            }

            _messages.Enqueue(make(_count));
            return freed;
        }
    }

    /// <summary>Those that are kept, oldest first.</summary>
    public IReadOnlyList<CapturedMessage> ToList()
    {
        lock (_gate)
        {
            return [.. _messages];
        }
    }

    /// <summary>Lets go of all.</summary>
    public void Release()
    {
        lock (_gate)
        {
            _isReleased = true;
            _messages.Clear();
        }
    }
}
