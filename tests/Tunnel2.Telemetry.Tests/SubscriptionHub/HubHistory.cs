namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

/// <summary>
/// What was published on each channel, in the order of its numbers: the model that views of the hub are compared with. A channel has lives:
/// the next one begins when it is removed. Data occur once.
/// </summary>
internal sealed class HubHistory
{
    private readonly Dictionary<string, List<List<(string Key, long Data)>>> _lives = [];
    private readonly Dictionary<long, (string Channel, int Life, long Sequence)> _places = [];

    /// <summary>The place of each message by its data.</summary>
    public IReadOnlyDictionary<long, (string Channel, int Life, long Sequence)> Places => _places;

    public void Add(string channel, string key, long data)
    {
        List<List<(string Key, long Data)>> lives = Lives(channel);
        lives[^1].Add((key, data));
        _places.Add(data, (channel, lives.Count - 1, lives[^1].Count));
    }

    public void Remove(string channel) => Lives(channel).Add([]);

    /// <summary>How many messages a life had; 0 for lives that never were.</summary>
    public int LengthOf(string channel, int life) => life < Lives(channel).Count ? Lives(channel)[life].Count : 0;

    public int LastLifeOf(string channel) => Lives(channel).Count - 1;

    public IEnumerable<(string Key, long Data)> Messages(string channel) => Lives(channel).SelectMany(life => life);

    public string KeyAt(string channel, int life, long sequence) => Lives(channel)[life][(int)sequence - 1].Key;

    /// <summary>The latest message of each key after the first <paramref name="sequence"/> messages, the oldest first.</summary>
    public IEnumerable<(string Key, long Sequence, long Data)> StateAt(string channel, int life, long sequence) =>
        Lives(channel)[life].Take((int)sequence).Select((message, index) => (message.Key, Sequence: index + 1L, message.Data))
            .GroupBy(message => message.Key).Select(group => group.Last()).OrderBy(message => message.Sequence);

    private List<List<(string Key, long Data)>> Lives(string channel)
    {
        if (!_lives.TryGetValue(channel, out List<List<(string Key, long Data)>>? lives))
        {
            _lives.Add(channel, lives = [[]]);
        }

        return lives;
    }
}
