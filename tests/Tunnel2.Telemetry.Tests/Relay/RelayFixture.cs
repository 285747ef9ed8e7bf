using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Relay;
using Tunnel2.TestUtilities;

namespace Tunnel2.Telemetry.Tests.Relay;

/// <summary>A ring and, when started, its relay on loopback; all on the real clock.</summary>
internal sealed class RelayFixture : IAsyncDisposable
{
    private readonly List<Meter> _meters = [];
    private readonly List<MeterListener> _listeners = [];
    private readonly CancellationTokenSource _stop = new();
    private readonly List<Task> _clients = [];

    internal RelayFixture(int capacity = 4096)
    {
        Directory = System.IO.Directory.CreateTempSubdirectory("tunnel2-relay-").FullName;
        RingOptions = new EventRingOptions { Capacity = capacity };
        Ring = SharedEventRing.Create(RingPath, RingOptions);
        Producer = Ring.CreateProducer();
    }

    internal string Directory { get; }

    internal string RingPath => Path.Combine(Directory, "ring");

    internal EventRingOptions RingOptions { get; }

    internal SharedEventRing Ring { get; set; }

    internal EventRingProducer Producer { get; set; }

    internal EventRelayServer? Server { get; private set; }

    internal int Port { get; private set; }

    /// <summary>Changes with all that the relay counts: what it counts has happened by then.</summary>
    internal AsyncCounter Counts { get; } = new("what the relay counts");

    /// <summary>Connections that the relay has ended.</summary>
    internal AsyncCounter Closed { get; } = new("connections that the relay has ended");

    internal static TimeSpan Limit { get; } = TimeSpan.FromSeconds(20);

    internal EventRelayServer Start(RelayServerOptions? options = null)
    {
        var meter = new Meter(RelayMetrics.MeterName);
        _meters.Add(meter);
        Listen(meter);
        Server = new EventRelayServer(
            Ring, (options ?? new RelayServerOptions()) with { Listen = new IPEndPoint(IPAddress.Loopback, Port) }, meter);
        Port = Server.LocalEndPoint.Port;
        return Server;
    }

    internal async Task StopAsync()
    {
        await Server!.DisposeAsync();
        Server = null;
    }

    internal CheckingSink Follow(long from, Func<RelayClientOptions, RelayClientOptions>? change = null)
    {
        var sink = new CheckingSink();
        var options = new RelayClientOptions
        {
            Server = new IPEndPoint(IPAddress.Loopback, Port),
            From = from,
            FirstDelay = TimeSpan.FromMilliseconds(10),
            OnDisconnected = (end, _) => sink.OnEnd(end),
        };
        _clients.Add(new EventRelayClient(change?.Invoke(options) ?? options, sink).RunAsync(_stop.Token));
        return sink;
    }

    internal void Publish(long first, int count, int length = 8)
    {
        byte[] payload = new byte[length];
        for (long i = first; i < first + count; i++)
        {
            BitConverter.TryWriteBytes(payload, i);
            Assert.Equal(PublishStatus.Published, Producer.TryPublish(1, payload));
        }
    }

    /// <summary>A connection of bare bytes.</summary>
    internal Socket Connect(int receiveBuffer = 0)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { ReceiveTimeout = 20_000 };
        if (receiveBuffer > 0)
        {
            socket.ReceiveBufferSize = receiveBuffer;
        }

        socket.Connect(IPAddress.Loopback, Port);
        return socket;
    }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await Task.WhenAll(_clients).WaitAsync(Limit);
        if (Server is not null)
        {
            await Server.DisposeAsync();
        }

        _listeners.ForEach(l => l.Dispose());
        _meters.ForEach(m => m.Dispose());
        Ring.Dispose();
        _stop.Dispose();
        System.IO.Directory.Delete(Directory, recursive: true);
    }

    private void Listen(Meter meter)
    {
        var listener = new MeterListener
        {
            InstrumentPublished = (instrument, listener) =>
            {
                if (ReferenceEquals(instrument.Meter, meter) && instrument is Counter<long>)
                {
                    listener.EnableMeasurementEvents(instrument);
                }
            },
        };
        listener.SetMeasurementEventCallback<long>((instrument, count, _, _) =>
        {
            Counts.Increment();
            if (instrument.Name == "tunnel2.relay.closed")
            {
                Closed.Add(count);
            }
        });
        listener.Start();
        _listeners.Add(listener);
    }
}

/// <summary>Checks that records and gaps follow each other without a hole or a repeat, and that contents are right.</summary>
internal sealed class CheckingSink : IEventRelaySink
{
    private readonly Lock _lock = new();
    private readonly List<(Func<CheckingSink, bool> Condition, TaskCompletionSource Done)> _waiters = [];
    private long _next = -1;

    internal ConcurrentQueue<RelayClientEnd> Ends { get; } = new();

    internal List<RingGap> Gaps { get; } = [];

    internal long Records { get; private set; }

    internal long Next => _next;

    internal int Warnings { get; private set; }

    internal string? Error { get; private set; }

    internal void OnEnd(RelayClientEnd end)
    {
        lock (_lock)
        {
            Ends.Enqueue(end);
            Signal();
        }
    }

    internal Task When(Func<CheckingSink, bool> condition)
    {
        lock (_lock)
        {
            var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            _waiters.Add((condition, done));
            Signal();
            return done.Task.WaitAsync(RelayFixture.Limit);
        }
    }

    public void OnRecord(long sequence, ushort type, ReadOnlySpan<byte> payload)
    {
        lock (_lock)
        {
            if ((_next >= 0 && sequence != _next) || BitConverter.ToInt64(payload) != sequence)
            {
                Error ??= $"record {sequence} where {_next} was due";
            }

            _next = sequence + 1;
            Records++;
            Signal();
        }
    }

    public void OnGap(RingGap gap)
    {
        lock (_lock)
        {
            Gaps.Add(gap);
            if (gap.Reason == RingGapReason.NewRing)
            {
                _next = -1;
            }
            else
            {
                if (_next >= 0 && gap.First != _next)
                {
                    Error ??= $"{gap} where {_next} was due";
                }

                _next = gap.First + gap.Count;
            }

            Signal();
        }
    }

    public void OnSlowWarning(long behind, long limit)
    {
        lock (_lock)
        {
            Warnings++;
            Signal();
        }
    }

    private void Signal()
    {
        for (int i = _waiters.Count - 1; i >= 0; i--)
        {
            if (_waiters[i].Condition(this))
            {
                _waiters[i].Done.SetResult();
                _waiters.RemoveAt(i);
            }
        }
    }
}
