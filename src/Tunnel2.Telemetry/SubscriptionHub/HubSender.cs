namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// The hub's only sending thread. It sends to each client with waiting frames, at once; while there are many such clients, rounds begin at
/// least 20 ms apart, so that each send has more bytes. Never waits for a socket.
/// </summary>
internal sealed class HubSender : IDisposable
{
    private const int ManyClients = 256;
    private const int TickMilliseconds = 20;
    private const int LookMilliseconds = 250;
    private const int ScratchSize = 64 * 1024;
    private const int EndMilliseconds = 5000;

    private readonly Hub _hub;
    private readonly Lock _gate = new();
    private readonly AutoResetEvent _wake = new(false);
    private readonly Thread _thread;
    private List<HubClient> _due = [];
    private List<HubClient> _spare = [];
    private volatile bool _stopping;
    private bool _sleeps;

    internal HubSender(Hub hub)
    {
        _hub = hub;
        _thread = new Thread(Run) { IsBackground = true, Name = "hub sender" };
    }

    internal void Start() => _thread.Start();

    /// <summary>A client has frames to send. Called with the client's queue locked.</summary>
    internal void Add(HubClient client)
    {
        bool wake;
        lock (_gate)
        {
            _due.Add(client);
            wake = _sleeps;
            _sleeps = false;
        }

        if (wake)
        {
            _wake.Set();
        }
    }

    public void Dispose()
    {
        _stopping = true;
        _wake.Set();
        if (!_thread.IsAlive || _thread.Join(EndMilliseconds))
        {
            _wake.Dispose();
        }
    }

    private void Run()
    {
        byte[] scratch = new byte[ScratchSize];
        var blocked = new List<HubClient>();
        long nextLook = 0;
        long roundStarted = 0;
        int roundSize = 0;
        while (!_stopping)
        {
            long now = _hub.Now;
            if (now >= nextLook)
            {
                nextLook = now + LookMilliseconds;
                _hub.Look(now);
            }

            if (roundSize > ManyClients && roundStarted + TickMilliseconds - now is > 0 and var rest)
            {
                _wake.WaitOne((int)rest);
            }

            List<HubClient> due = Take(blocked.Count > 0 ? TickMilliseconds : (int)Math.Max(1, nextLook - now));
            roundStarted = _hub.Now;
            roundSize = due.Count + blocked.Count;
            SendAll(blocked, scratch);
            foreach (HubClient client in due)
            {
                if (!TrySend(client, scratch))
                {
                    blocked.Add(client);
                }
            }

            due.Clear();
            _spare = due;
        }
    }

    /// <summary>Any fault with one client ends that client, because all clients need this thread.</summary>
    private bool TrySend(HubClient client, byte[] scratch)
    {
        try
        {
            return client.TrySend(scratch);
        }
        catch (ObjectDisposedException)
        {
            // Other code closed it during the send.
            client.Abort();
            return true;
        }
        catch (Exception exception)
        {
            _hub.OnFault(exception);
            client.Abort();
            return true;
        }
    }

    private void SendAll(List<HubClient> blocked, byte[] scratch)
    {
        int kept = 0;
        for (int i = 0; i < blocked.Count; i++)
        {
            if (!TrySend(blocked[i], scratch))
            {
                blocked[kept++] = blocked[i];
            }
        }

        blocked.RemoveRange(kept, blocked.Count - kept);
    }

    private List<HubClient> Take(int milliseconds)
    {
        lock (_gate)
        {
            if (_due.Count > 0)
            {
                return SwapUnsynchronized();
            }

            _sleeps = true;
        }

        _wake.WaitOne(milliseconds);
        lock (_gate)
        {
            _sleeps = false;
            return SwapUnsynchronized();
        }
    }

    private List<HubClient> SwapUnsynchronized()
    {
        List<HubClient> due = _due;
        _due = _spare;
        return due;
    }
}
