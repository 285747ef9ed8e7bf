namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

/// <summary>
/// The oracle: a list of subscriptions that is searched from end to end, and a matcher that follows the definition word by word.
/// </summary>
internal sealed class NaiveIndex
{
    private readonly List<(TestSubscriber Subscriber, string Name)> _subscriptions = [];
    private readonly HashSet<TestSubscriber> _removed = [];

    public int ChannelCount => _subscriptions.Select(subscription => subscription.Name).Distinct().Count();

    public bool Add(TestSubscriber subscriber, string name)
    {
        if (_removed.Contains(subscriber) || _subscriptions.Contains((subscriber, name)))
        {
            return false;
        }

        _subscriptions.Add((subscriber, name));
        return true;
    }

    public bool Remove(TestSubscriber subscriber, string name) => _subscriptions.Remove((subscriber, name));

    public int RemoveClient(TestSubscriber subscriber)
    {
        _removed.Add(subscriber);
        return _subscriptions.RemoveAll(subscription => subscription.Subscriber == subscriber);
    }

    public IEnumerable<int> Get(string channel) => _subscriptions
        .Where(subscription => Matches(subscription.Name.Split('.'), channel.Split('.')))
        .Select(subscription => subscription.Subscriber.Number)
        .Order();

    private static bool Matches(ReadOnlySpan<string> pattern, ReadOnlySpan<string> channel)
    {
        if (pattern.IsEmpty || channel.IsEmpty)
        {
            return pattern.IsEmpty && channel.IsEmpty;
        }

        return pattern[0] == ">" || ((pattern[0] == "*" || pattern[0] == channel[0]) && Matches(pattern[1..], channel[1..]));
    }
}
