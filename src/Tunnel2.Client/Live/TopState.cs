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

    private readonly string _windowKey;
    private readonly Dictionary<string, TopSession> _sessions = new(StringComparer.Ordinal);

    /// <param name="windowKey">The windows to read: <c>1s</c>, <c>10s</c> or <c>1m</c>.</param>
    public TopState(string windowKey) => _windowKey = windowKey;

    /// <summary>The statistics of all sessions together.</summary>
    public TopStatistics? Node { get; private set; }

    /// <summary>The sessions by name.</summary>
    public IReadOnlyDictionary<string, TopSession> Sessions => _sessions;

    /// <summary>Messages that the hub left out because this client was slow.</summary>
    public long Skipped { get; private set; }

    /// <summary>Requests that the server's own statistics missed.</summary>
    public long Missed { get; private set; }

    /// <summary>Clears the state for a new connection, whose messages are complete by themselves.</summary>
    public void Clear()
    {
        _sessions.Clear();
        Node = null;
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
                    Take(root.GetProperty("channel").GetString()!, root.GetProperty("key").GetString(), root.GetProperty("data"));
                    break;
                case "removed" when root.GetProperty("channel").GetString()!.Split('.') is ["session", var name, _]:
                    _sessions.Remove(PlainText.Clean(name));
                    break;
                case "gap":
                    Skipped += root.GetProperty("dropped").GetInt64();
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

    private void Take(string channel, string? key, JsonElement data)
    {
        if (channel == "node.stats")
        {
            if (key == _windowKey)
            {
                Node = TopStatistics.Read(data);
            }

            Missed = data.GetProperty("missed").GetInt64() + data.GetProperty("dropped").GetInt64();
            return;
        }

        if (channel.Split('.') is not ["session", var raw, var part])
        {
            return;
        }

        string name = PlainText.Clean(raw);
        if (!_sessions.TryGetValue(name, out TopSession? session))
        {
            if (_sessions.Count == MostSessions)
            {
                return;
            }

            _sessions.Add(name, session = new TopSession());
        }

        if (part == "status")
        {
            session.IsOnline = data.GetProperty("online").GetBoolean();
            session.Agent = session.IsOnline ? PlainText.Clean(data.GetProperty("agent").GetString() ?? "") : "";
            session.Uplinks = session.IsOnline ? data.GetProperty("uplinks").GetInt32() : 0;
        }
        else if (part == "stats" && key == _windowKey)
        {
            session.Statistics = TopStatistics.Read(data);
        }
    }
}
