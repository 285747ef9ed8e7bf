using System.Text.Json;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

/// <summary>
/// Compares what one client of a hub got with the history: snapshots that are what was the latest at their number, and after them every
/// message once, in order. Marks say what the client was doing: <c>subscribing</c>, <c>joined</c> and <c>unsubscribed</c>, with a pattern.
/// </summary>
internal sealed class HubView(HubHistory history)
{
    private const int Remembered = 40;

    private readonly Dictionary<string, Following> _channels = [];
    private readonly HashSet<string> _patterns = [];
    private readonly Queue<string> _last = new();
    private string? _joining;

    /// <summary>Messages that came live, and snapshots with at least one message.</summary>
    public (int Messages, int Snapshots) Seen { get; private set; }

    /// <summary>Takes the next frame.</summary>
    /// <returns>What is wrong with it, and the last frames before it; null for nothing.</returns>
    public string? Take(JsonElement frame)
    {
        string? fault = Check(frame);
        _last.Enqueue(frame.GetRawText());
        if (_last.Count > Remembered)
        {
            _last.Dequeue();
        }

        return fault is null ? null : $"{fault}\n{string.Join('\n', _last)}";
    }

    /// <summary>Nothing more will come. The client has a subscription that covers every channel.</summary>
    /// <returns>What is missing; null for nothing.</returns>
    public string? End()
    {
        foreach ((string channel, Following following) in _channels)
        {
            if (following.Sequence > 0
                ? following.Life != history.LastLifeOf(channel) || following.Sequence != history.LengthOf(channel, following.Life)
                : following.IsExact && !AreEmpty(channel, following.Life, history.LastLifeOf(channel) + 1))
            {
                return $"{channel}: messages after {following} are missing.";
            }
        }

        return null;
    }

    private string? Check(JsonElement frame)
    {
        string type = frame.GetProperty("type").GetString()!;
        if (type is "subscribing" or "joined" or "unsubscribed")
        {
            Mark(type, frame.GetProperty("pattern").GetString()!);
            return null;
        }

        string channel = frame.GetProperty("channel").GetString()!;
        if (!_channels.TryGetValue(channel, out Following following))
        {
            following = default;
        }

        string? fault = type switch
        {
            "snapshot" => OnSnapshot(channel, frame, ref following),
            "message" => OnMessage(channel, frame, ref following),
            "removed" => OnRemoved(channel, ref following),
            _ => $"{type} was not expected.",
        };
        _channels[channel] = following;
        return fault is null ? null : $"{channel}: {fault}";
    }

    private void Mark(string type, string pattern)
    {
        if (type == "subscribing")
        {
            _joining = pattern;
            return;
        }

        _joining = null;
        bool changed = type == "joined" ? _patterns.Add(pattern) : _patterns.Remove(pattern);
        foreach ((string channel, Following following) in _channels)
        {
            if (changed && type == "unsubscribed" && !IsCovered(channel))
            {
                _channels[channel] = following with { WasLeft = true, IsExact = false };
            }
            else if (type == "joined" && following.WasLeft && IsCovered(channel))
            {
                // No snapshot came, so there was no channel: a new life will begin.
                _channels[channel] = new Following(following.Life + (following.Sequence > 0 ? 1 : 0), 0);
            }
        }
    }

    private string? OnSnapshot(string channel, JsonElement frame, ref Following following)
    {
        long sequence = frame.GetProperty("seq").GetInt64();
        (string Key, long Sequence, long Data)[] messages =
        [
            .. frame.GetProperty("messages").EnumerateArray().Select(message => (
                message.GetProperty("key").GetString()!, message.GetProperty("seq").GetInt64(), message.GetProperty("data").GetInt64())),
        ];
        if (!IsJoining(channel))
        {
            return "a snapshot that was not asked for.";
        }

        if (messages.Length == 0)
        {
            following = new Following(following.Life + (following.Sequence > 0 ? 1 : 0), 0);
            return sequence == 0 ? null : "an empty snapshot of a channel that has messages.";
        }

        Seen = (Seen.Messages, Seen.Snapshots + 1);
        (string Channel, int Life, long Sequence) place = history.Places[messages[^1].Data];
        if (place.Channel != channel || place.Sequence != sequence
            || !history.StateAt(channel, place.Life, sequence).SequenceEqual(messages))
        {
            return $"the snapshot is not what the latest messages were at {place}.";
        }

        if (place.Life < following.Life || (place.Life == following.Life && sequence < following.Sequence))
        {
            return $"the snapshot is older than {following}.";
        }

        following = new Following(place.Life, sequence) { IsExact = true };
        return null;
    }

    private string? OnMessage(string channel, JsonElement frame, ref Following following)
    {
        long sequence = frame.GetProperty("seq").GetInt64();
        (string Channel, int Life, long Sequence) place = history.Places[frame.GetProperty("data").GetInt64()];
        if (place.Channel != channel || place.Sequence != sequence
            || history.KeyAt(channel, place.Life, sequence) != frame.GetProperty("key").GetString())
        {
            return $"the message is not the one at {place}.";
        }

        bool isNext = following.Sequence > 0 && place.Life == following.Life
            ? sequence == following.Sequence + 1
            : sequence == 1 && place.Life >= following.Life + (following.Sequence > 0 ? 1 : 0) && MayBegin(channel, place.Life, following);
        if (!isNext)
        {
            return $"the message does not follow {following}.";
        }

        Seen = (Seen.Messages + 1, Seen.Snapshots);
        // The first message of a life that begins while the client comes back; any other one was under way when it left.
        bool isBack = !following.WasLeft || (sequence == 1 && IsJoining(channel));
        following = new Following(place.Life, sequence) { IsExact = isBack, WasLeft = !isBack };
        return null;
    }

    /// <summary>Whether a life may be the next one that the client hears of: no message of an earlier one was left out.</summary>
    private bool MayBegin(string channel, int life, in Following following) =>
        following.WasLeft || (following.Sequence == 0 && (!following.IsExact || AreEmpty(channel, following.Life, life)));

    private string? OnRemoved(string channel, ref Following following)
    {
        // While it waits for a snapshot, messages are left out; it then hears only that the channel is gone.
        bool waits = following.WasLeft || IsJoining(channel);
        if (following.Sequence > 0 && !waits && following.Sequence != history.LengthOf(channel, following.Life))
        {
            return $"the channel was removed before the messages after {following} came.";
        }

        following = following.Sequence > 0
            ? new Following(following.Life + 1, 0) { IsExact = following.IsExact, WasLeft = following.WasLeft }
            : following with { IsExact = following.IsExact && !waits };
        return null;
    }

    private bool AreEmpty(string channel, int from, int to) =>
        Enumerable.Range(from, Math.Max(to - from, 0)).All(life => history.LengthOf(channel, life) == 0);

    private bool IsJoining(string channel) => _joining is not null && ChannelName.Matches(_joining, channel);

    private bool IsCovered(string channel) => _patterns.Any(pattern => ChannelName.Matches(pattern, channel));

    /// <summary>
    /// The last message of a channel that the client knows; with number 0, the earliest life whose first message may be the next.
    /// </summary>
    private record struct Following(int Life, long Sequence)
    {
        /// <summary>Whether nothing was left out since, so that the next message is known.</summary>
        public bool IsExact { get; init; }

        /// <summary>Whether the client has left the channel since; what was under way then may still come.</summary>
        public bool WasLeft { get; init; }
    }
}
