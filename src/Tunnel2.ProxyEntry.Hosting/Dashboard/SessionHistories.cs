using System.Globalization;
using System.Text.Json;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>
/// The last fifteen minutes of each session in samples of ten seconds. While a viewer watches a session they are on
/// <c>session.{name}.history</c>: all at first, then each as its time has passed. A time for which nothing is known has no sample. Memory
/// is bounded: of too many sessions those with the oldest last request are forgotten. Thread-safe; its lock is taken before a channel's.
/// </summary>
internal sealed class SessionHistories : IDisposable
{
    /// <summary>Length of a sample: that of a window that exists anyway.</summary>
    public const int Seconds = 10;

    /// <summary>Samples of a session.</summary>
    public const int Samples = 15 * 60 / Seconds;

    /// <summary>Sessions that are kept.</summary>
    public const int MostSessions = 1000;

    /// <summary>Sessions that are published at once.</summary>
    public const int MostWatched = 100;

    /// <summary>Errors' codes that a sample has at most: the most frequent ones.</summary>
    public const int MostCodes = 8;

    private const long Length = Seconds * WatermarkFilter.Second;
    private const double SecondsBetweenLooks = 0.2;

    private static readonly string[] _keys =
    [
        .. Enumerable.Range(0, Samples).Select(static i => i.ToString(CultureInfo.InvariantCulture)),
    ];

    private readonly Hub _hub;
    private readonly ISessionDirectory _directory;
    private readonly TimeProvider _time;
    private readonly Lock _gate = new();
    private readonly HubMessageWriter _message = new();
    private readonly Dictionary<string, History> _sessions = new(StringComparer.Ordinal);
    private readonly List<History> _watched = [];

    /// <summary>The sessions by their last request, the oldest first.</summary>
    private readonly LinkedList<History> _order = [];

    /// <summary>The times of which everything is known: without a sample of a session, the session had no request then.</summary>
    private readonly SortedSet<long> _known = [];

    /// <summary>Where the first time begins that has not passed.</summary>
    private long _next = long.MinValue;

    /// <summary>What was forgotten, because there were too many sessions, may have had samples up to here.</summary>
    private long _forgottenTo = long.MinValue;

    private volatile bool _hasNew;
    private long _version = -1;
    private int _registered;
    private long _nextLook = long.MinValue;

    public SessionHistories(Hub hub, ISessionDirectory directory, TimeProvider time) => (_hub, _directory, _time) = (hub, directory, time);

    /// <summary>Sessions that are kept now.</summary>
    public int Count
    {
        get
        {
            lock (_gate)
            {
                return _sessions.Count;
            }
        }
    }

    /// <summary>A session's window of <see cref="Seconds"/>. Any thread may add windows, each session's in their order.</summary>
    public void Add(string session, in WindowResult window, WindowCell cell)
    {
        lock (_gate)
        {
            KnowUnsynchronized(window.StartUnixMicroseconds);
            if (_sessions.TryGetValue(session, out var history))
            {
                _order.Remove(history.Place);
                _order.AddLast(history.Place);
            }
            else
            {
                history = AddUnsynchronized(session);
                _hasNew = true;
            }

            history.Add(new Sample(window, CodesOf(cell)));
        }
    }

    /// <summary>
    /// All windows were added that end at or before <paramref name="watermark"/>, µs since 1970, and no more will come: publishes what has
    /// passed.
    /// </summary>
    public void AdvanceTo(long watermark)
    {
        lock (_gate)
        {
            var next = watermark - (watermark % Length);
            if (_next == long.MinValue)
            {
                _next = next;
            }

            if (next <= _next)
            {
                return;
            }

            // After a jump of the clock nothing is known of the time between.
            KnowUnsynchronized(_next);
            _next = next;
            foreach (var history in _watched)
            {
                PublishUnsynchronized(history);
            }

            while (_order.First?.Value is { IsWatched: false } oldest && oldest.Last < next - (Samples * Length))
            {
                RemoveUnsynchronized(oldest);
            }
        }
    }

    /// <summary>Looks for sessions that are watched now, or no longer. For the feed's thread alone.</summary>
    public void Follow()
    {
        var now = _time.GetTimestamp();
        if (now < _nextLook || (_version == _hub.SubscriptionVersion && !_hasNew && _registered == _directory.Count))
        {
            return;
        }

        _nextLook = now + (long)(_time.TimestampFrequency * SecondsBetweenLooks);
        (_version, _registered, _hasNew) = (_hub.SubscriptionVersion, _directory.Count, false);
        lock (_gate)
        {
            foreach (var history in _watched.Where(history => !_hub.HasSubscribers(history.ChannelName)).ToList())
            {
                EndUnsynchronized(history);
            }

            foreach (var history in _order.Where(history => !history.IsWatched && _hub.HasSubscribers(history.ChannelName)).ToList())
            {
                BeginUnsynchronized(history);
            }

            // A session without a request in this time has no history, and that is what there is to say.
            foreach (var session in _directory.Snapshot())
            {
                if (_watched.Count < MostWatched && !_sessions.ContainsKey(session.Name)
                    && _hub.HasSubscribers(History.ChannelOf(session.Name)))
                {
                    BeginUnsynchronized(AddUnsynchronized(session.Name));
                }
            }
        }
    }

    /// <summary>The clock was set back to <paramref name="now"/>, µs since 1970: what comes replaces the samples after it.</summary>
    public void SetBack(long now)
    {
        lock (_gate)
        {
            var start = now - (now % Length);
            _known.RemoveWhere(known => known >= start);
            _next = long.MinValue;
            _forgottenTo = Math.Min(_forgottenTo, start - 1);
            foreach (var history in _order)
            {
                history.CutAt(start);
            }
        }
    }

    public void Dispose() => _message.Dispose();

    /// <summary>The most frequent errors of a window; null without an error.</summary>
    private static KeyValuePair<ushort, long>[]? CodesOf(WindowCell cell) =>
        cell.ErrorsByCode is { } errors ? [.. errors.OrderByDescending(static pair => pair.Value).Take(MostCodes)] : null;

    private void KnowUnsynchronized(long start)
    {
        if (_known.Add(start) && _known.Count > Samples)
        {
            _known.Remove(_known.Min);
        }
    }

    private History AddUnsynchronized(string session)
    {
        if (_sessions.Count >= MostSessions && _order.FirstOrDefault(static one => !one.IsWatched) is { } oldest)
        {
            _forgottenTo = Math.Max(_forgottenTo, oldest.Last);
            RemoveUnsynchronized(oldest);
        }

        var history = new History(session, _forgottenTo);
        _sessions.Add(session, history);
        _order.AddLast(history.Place);
        return history;
    }

    private void RemoveUnsynchronized(History history)
    {
        _order.Remove(history.Place);
        _sessions.Remove(history.Name);
    }

    private void BeginUnsynchronized(History history)
    {
        if (_watched.Count >= MostWatched)
        {
            return;
        }

        history.Channel = _hub.GetChannel(history.ChannelName);
        _watched.Add(history);
        var json = _message.Begin();
        json.WriteStartObject();
        json.WriteString("session"u8, history.Name);
        json.WriteStartArray("samples"u8);
        history.Published = history.UnknownTo;
        var oldest = _next == long.MinValue ? _next : _next - (Samples * Length);
        foreach (var start in _known.Where(start => start > history.UnknownTo && start >= oldest && start < _next))
        {
            Write(json, start, history.Find(start));
            history.Published = start;
        }

        json.WriteEndArray();
        json.WriteEndObject();
        _hub.Publish(history.Channel, "all", _message.End());
    }

    private void EndUnsynchronized(History history)
    {
        _hub.RemoveChannel(history.Channel!);
        history.Channel = null;
        _watched.Remove(history);
        if (history.IsEmpty)
        {
            RemoveUnsynchronized(history);
        }
    }

    /// <summary>Publishes the times that have passed, with or without a request.</summary>
    private void PublishUnsynchronized(History history)
    {
        foreach (var start in _known.Where(start => start > history.Published && start < _next))
        {
            Write(_message.Begin(), start, history.Find(start));
            _hub.Publish(history.Channel!, _keys[(int)(start / Length % Samples)], _message.End());
            history.Published = start;
        }
    }

    private static void Write(Utf8JsonWriter json, long start, Sample? sample)
    {
        json.WriteStartObject();
        json.WriteNumber("startMs"u8, start / 1000);
        json.WriteNumber("seconds"u8, Seconds);
        WindowJson.WriteMembers(json, sample?.Window ?? default);
        if (sample?.Errors is { } errors)
        {
            json.WriteStartObject("errorsByCode"u8);
            foreach (var (code, count) in errors)
            {
                json.WriteNumber(RequestErrorCodes.Name(code)!, count);
            }

            json.WriteEndObject();
        }

        json.WriteEndObject();
    }

    /// <summary>What a session did in <see cref="Seconds"/>. Immutable.</summary>
    private readonly record struct Sample(WindowResult Window, KeyValuePair<ushort, long>[]? Errors)
    {
        public long Start => Window.StartUnixMicroseconds;

        /// <summary>Two parts of one time: it was divided when the numbering of sessions began again.</summary>
        public Sample Plus(in Sample other) => new(
            Window with
            {
                Requests = Window.Requests + other.Window.Requests,
                Errors = Window.Errors + other.Window.Errors,
                BytesIn = Window.BytesIn + other.Window.BytesIn,
                BytesOut = Window.BytesOut + other.Window.BytesOut,
                P50 = Math.Max(Window.P50, other.Window.P50),
                P95 = Math.Max(Window.P95, other.Window.P95),
                P99 = Math.Max(Window.P99, other.Window.P99),
            },
            Errors ?? other.Errors);
    }

    /// <summary>One session. Guarded by the lock.</summary>
    private sealed class History
    {
        private readonly List<Sample> _samples = [];

        public History(string name, long unknownTo)
        {
            (Name, UnknownTo, ChannelName) = (name, unknownTo, ChannelOf(name));
            Place = new LinkedListNode<History>(this);
        }

        public string Name { get; }

        public string ChannelName { get; }

        /// <summary>Of the time up to here nothing is known: samples of it may have been forgotten.</summary>
        public long UnknownTo { get; private set; }

        public LinkedListNode<History> Place { get; }

        /// <summary>Where it is published; null while no viewer watches.</summary>
        public HubChannel? Channel { get; set; }

        public bool IsWatched => Channel is not null;

        /// <summary>The newest time that was published.</summary>
        public long Published { get; set; }

        public bool IsEmpty => _samples.Count == 0;

        /// <summary>The newest time with a request.</summary>
        public long Last => IsEmpty ? long.MinValue : _samples[^1].Start;

        public static string ChannelOf(string name) => $"session.{name}.history";

        public void Add(in Sample sample)
        {
            if (sample.Start <= Last)
            {
                if (sample.Start == Last)
                {
                    _samples[^1] = _samples[^1].Plus(sample);
                }

                return;
            }

            var oldest = sample.Start - ((Samples - 1) * Length);
            _samples.RemoveRange(0, _samples.Count(one => one.Start < oldest));
            if (_samples.Count == _samples.Capacity)
            {
                _samples.Capacity = Math.Min(Samples, Math.Max(4, _samples.Count * 2));
            }

            _samples.Add(sample);
        }

        /// <summary>Forgets all from a time on.</summary>
        public void CutAt(long start)
        {
            _samples.RemoveAll(one => one.Start >= start);
            Published = Math.Min(Published, start - 1);
            UnknownTo = Math.Min(UnknownTo, start - 1);
        }

        public Sample? Find(long start)
        {
            // The newest are asked for most.
            var at = _samples.FindLastIndex(one => one.Start == start);
            return at < 0 ? null : _samples[at];
        }
    }
}
