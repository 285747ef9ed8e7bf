using System.Text.Json;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Live;

/// <summary>
/// The state of <c>tunnel2 top</c>: the latest statistics and status of each session, from the hub's messages. Not thread-safe.
/// </summary>
internal sealed class TopState
{
    /// <summary>How many sessions are accepted. A server with more would only fill this process's memory.</summary>
    private const int MostSessions = 100_000;

    /// <summary>How many requests of the session that is looked at are kept.</summary>
    private const int MostRequests = 200;

    private readonly TopStatistics?[] _node = new TopStatistics?[TopFigures.WindowKeys.Length];
    private readonly Dictionary<string, TopSession> _sessions = new(StringComparer.Ordinal);
    private readonly SortedDictionary<string, TopNode> _nodes = new(StringComparer.Ordinal);
    private readonly Queue<TopRequest?> _requests = new();
    private long _lastRequest = -1;
    private bool _isBroken;

    /// <param name="windowKey">The windows that are shown first: <c>1s</c>, <c>10s</c> or <c>1m</c>.</param>
    public TopState(string windowKey) => Window = Array.IndexOf(TopFigures.WindowKeys, windowKey);

    /// <summary>Which windows are shown; a place in <see cref="TopFigures.WindowKeys"/>.</summary>
    public int Window { get; set; }

    /// <summary>The length of those windows, in seconds.</summary>
    public int WindowSeconds => TopFigures.WindowSeconds[Window];

    /// <summary>The statistics of all sessions together.</summary>
    public TopStatistics? Node => _node[Window];

    /// <summary>The session whose requests are kept, or null.</summary>
    public string? Watched { get; private set; }

    /// <summary>The last requests of that session, the newest last; null where some may be missing.</summary>
    public IReadOnlyCollection<TopRequest?> Requests => _requests;

    /// <summary>Requests of that session that the server left out of its list, because they were too many.</summary>
    public long RequestsLeftOut { get; private set; }

    /// <summary>Whether the server is a node of a cluster, whose other nodes are shown too.</summary>
    public bool IsCluster { get; private set; }

    /// <summary>The nodes of the cluster by name.</summary>
    public IReadOnlyDictionary<string, TopNode> Nodes => _nodes;

    /// <summary>The sessions by name; in a cluster by name, <c>@</c> and node.</summary>
    public IReadOnlyDictionary<string, TopSession> Sessions => _sessions;

    /// <summary>Messages that the hub left out because this client was slow.</summary>
    public long Skipped { get; private set; }

    /// <summary>Requests that the server's own statistics missed.</summary>
    public long Missed { get; private set; }

    /// <summary>Whether the hub sends no messages now, because it is short and this client is slow.</summary>
    public bool IsPaused { get; private set; }

    /// <summary>How often it did so.</summary>
    public long Pauses { get; private set; }

    /// <summary>Whether there is a connection.</summary>
    public bool IsConnected { get; set; } = true;

    /// <summary>Whether messages come: otherwise nothing is known of the present.</summary>
    public bool IsFollowed => IsConnected && !IsPaused;

    /// <summary>When the last second ended that the server has reported as it passed, µs since 1970; null: none has.</summary>
    public long? SecondEndedUs { get; private set; }

    /// <summary>Clears the state for a new connection, whose messages are complete by themselves.</summary>
    public void Clear()
    {
        (IsPaused, IsConnected) = (false, true);
        IsCluster = false;
        _sessions.Clear();
        _nodes.Clear();
        Array.Clear(_node);
        SecondEndedUs = null;
        Watch(null);
    }

    /// <summary>What is known of the present of all sessions together.</summary>
    public TopStatistics Current(long serverNowUs) =>
        TopFigures.Current(Node, WindowSeconds, serverNowUs, IsFollowed && !IsFirst(_node, Window));

    /// <summary>What is known of a session's present.</summary>
    public TopStatistics Current(TopSession session, int window, long serverNowUs) => TopFigures.Current(
        session.Windows[window], TopFigures.WindowSeconds[window], serverNowUs,
        IsFollowed && !session.IsLost && !IsFirst(session.Windows, window), session.IsLost);

    /// <summary>Keeps the requests of another session, or of none.</summary>
    public void Watch(string? name)
    {
        Watched = name;
        _requests.Clear();
        (_lastRequest, _isBroken) = (-1, false);
        RequestsLeftOut = 0;
    }

    /// <summary>Applies a message.</summary>
    /// <returns>Its type, such as <c>pong</c>.</returns>
    /// <exception cref="InvalidDataException">It is not a message of the hub.</exception>
    public string Apply(ReadOnlyMemory<byte> message)
    {
        try
        {
            using JsonDocument document = JsonDocument.Parse(message);
            JsonElement root = document.RootElement;
            string type = root.GetProperty("type").GetString() ?? "";
            switch (type)
            {
                case "snapshot":
                    foreach (JsonElement one in root.GetProperty("messages").EnumerateArray())
                    {
                        Take(root.GetProperty("channel").GetString()!, one.GetProperty("key").GetString(), one.GetProperty("data"));
                    }

                    break;
                case "message":
                    Take(
                        root.GetProperty("channel").GetString()!, root.GetProperty("key").GetString(), root.GetProperty("data"),
                        isNew: true);
                    break;
                case "removed":
                    if (SessionOf(root.GetProperty("channel").GetString()!) is (var node, var name, _))
                    {
                        _sessions.Remove(KeyOf(node, name));
                    }

                    break;
                case "gap":
                    Skipped += root.GetProperty("dropped").GetInt64();
                    _isBroken = _requests.Count > 0;
                    break;
                case "paused":
                    IsPaused = true;
                    Pauses++;
                    _isBroken = _requests.Count > 0;
                    break;
                case "resumed":
                    IsPaused = false;
                    break;
                case "error":
                    throw new InvalidDataException(
                        $"the server refused a subscription: {PlainText.Clean(root.GetProperty("code").GetString()!)}");
            }

            return type;
        }
        catch (Exception exception)
            when (exception is JsonException or KeyNotFoundException or InvalidOperationException or FormatException
                or NullReferenceException)
        {
            throw new InvalidDataException("the server said something that this version does not understand", exception);
        }
    }

    private void Take(string channel, string? key, JsonElement data, bool isNew = false)
    {
        switch (channel)
        {
            case "cluster.info":
                IsCluster = true;
                return;
            case "cluster.nodes":
                TakeNode(data);
                return;
            case "node.stats" or "cluster.stats":
                if (Array.IndexOf(TopFigures.WindowKeys, key) is >= 0 and var window)
                {
                    _node[window] = TopStatistics.Read(data);
                    SecondEndedUs = isNew && window == 0 ? _node[window]?.EndUs : SecondEndedUs;
                }

                Missed = data.GetProperty("missed").GetInt64() + data.GetProperty("dropped").GetInt64();
                return;
        }

        if (SessionOf(channel) is not (var node, var name, var part))
        {
            return;
        }

        string id = KeyOf(node, name);
        if (part == "requests")
        {
            TakeRequest(id, data);
            return;
        }

        if (!_sessions.TryGetValue(id, out TopSession? session))
        {
            if (_sessions.Count == MostSessions)
            {
                return;
            }

            _sessions.Add(id, session = new TopSession { Name = name, Node = node is null ? null : NodeOf(node) });
        }

        if (part == "status")
        {
            session.IsOnline = data.GetProperty("online").GetBoolean();
            session.Agent = session.IsOnline ? PlainText.Clean(data.GetProperty("agent").GetString() ?? "") : "";
            session.Uplinks = session.IsOnline ? data.GetProperty("uplinks").GetInt32() : 0;
        }
        else if (part == "stats" && Array.IndexOf(TopFigures.WindowKeys, key) is >= 0 and var at)
        {
            session.Windows[at] = TopStatistics.Read(data);
        }
    }

    /// <summary>
    /// The session that a channel is about: <c>session.{name}.{part}</c>, in a cluster <c>at.{node}.session.{name}.{part}</c>.
    /// </summary>
    private static (string? Node, string Name, string Part)? SessionOf(string channel) => channel.Split('.') switch
    {
        ["session", var name, var part] => (null, PlainText.Clean(name), part),
        ["at", var node, "session", var name, var part] => (PlainText.Clean(node), PlainText.Clean(name), part),
        _ => null,
    };

    /// <summary>Whether requests have ended, and the first window of this length is not over yet.</summary>
    private static bool IsFirst(TopStatistics?[] windows, int window) => windows[window] is null && windows[0] is not null;

    private static string KeyOf(string? node, string name) => node is null ? name : $"{name}@{node}";

    private TopNode NodeOf(string name)
    {
        if (!_nodes.TryGetValue(name, out TopNode? node))
        {
            _nodes.Add(name, node = new TopNode(name));
        }

        return node;
    }

    private void TakeNode(JsonElement data)
    {
        TopNode node = NodeOf(PlainText.Clean(data.GetProperty("node").GetString() ?? ""));
        node.State = PlainText.Clean(data.GetProperty("state").GetString() ?? "");
        node.Version = PlainText.Clean(data.GetProperty("version").GetString() ?? "");
        node.Skipped = data.GetProperty("skipped").GetInt64();
    }

    private void TakeRequest(string name, JsonElement data)
    {
        // Some may come after the subscription has ended, and those of a snapshot may have come before.
        if (name != Watched || (data.TryGetProperty("sequence", out JsonElement number) && number.GetInt64() <= _lastRequest))
        {
            return;
        }

        if (data.TryGetProperty("skipped", out JsonElement skipped))
        {
            RequestsLeftOut += skipped.GetInt64();
        }

        if (data.TryGetProperty("method", out _))
        {
            TopRequest request = TopRequest.Read(data);
            if (_isBroken)
            {
                Keep(null);
                _isBroken = false;
            }

            Keep(request);
            _lastRequest = number.ValueKind == JsonValueKind.Number ? number.GetInt64() : _lastRequest;
        }
    }

    private void Keep(TopRequest? request)
    {
        if (_requests.Count == MostRequests)
        {
            _requests.Dequeue();
        }

        _requests.Enqueue(request);
    }
}
