using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

[Trait("Category", "Unit")]
public sealed class SubscriptionIndexTests
{
    private readonly SubscriptionIndex _index = new();
    private readonly SubscriberMatches _matches = new();

    [Fact]
    public void A_channel_without_subscribers_has_none() => Assert.Empty(Find("session.a.stats"));

    [Fact]
    public void A_subscriber_is_found_once_for_each_of_its_subscriptions_that_match()
    {
        var subscriber = new TestSubscriber(1);
        _index.Add(subscriber, "session.a.stats");
        _index.Add(subscriber, "session.*.stats");

        Assert.Equal([1, 1], Find("session.a.stats"));
        Assert.Equal([1], Find("session.b.stats"));
    }

    [Fact]
    public void A_star_is_one_segment_and_a_greater_than_sign_one_or_more()
    {
        _index.Add(new TestSubscriber(1), "session.*");
        _index.Add(new TestSubscriber(2), "session.>");

        Assert.Empty(Find("session"));
        Assert.Equal([1, 2], Find("session.a"));
        Assert.Equal([2], Find("session.a.stats"));
    }

    [Fact]
    public void A_removed_client_cannot_come_back_as_a_ghost()
    {
        var subscriber = new TestSubscriber(1);
        _index.Add(subscriber, "x");
        Assert.Equal(1, _index.RemoveClient(subscriber));

        Assert.False(_index.Add(subscriber, "x"));
        Assert.Equal(0, _index.RemoveClient(subscriber));
        Assert.Empty(Find("x"));
    }

    [Fact]
    public void A_channel_or_pattern_that_everybody_left_takes_no_room()
    {
        for (int i = 0; i < 1_000; i++)
        {
            var subscriber = new TestSubscriber(i);
            _index.Add(subscriber, $"session.{i}.stats");
            _index.Add(subscriber, $"session.{i}.>");
            Assert.Equal(2, _index.ChannelCount);
            _index.RemoveClient(subscriber);
        }

        Assert.Equal(0, _index.ChannelCount);
    }

    [Fact]
    public void A_channel_that_shrank_is_compacted_and_everybody_left_in_it_can_still_leave()
    {
        TestSubscriber[] subscribers = [.. Enumerable.Range(0, 1_000).Select(i => new TestSubscriber(i))];
        Assert.All(subscribers, subscriber => _index.Add(subscriber, "x"));
        for (int i = 0; i < 1_000; i++)
        {
            if (i % 10 != 3)
            {
                _index.RemoveClient(subscribers[i]);
            }
        }

        var array = subscribers[3].Places[0].Channel.Array;
        Assert.InRange(array.Used, 100, 400);
        Assert.Equal(Enumerable.Range(0, 100).Select(i => (i * 10) + 3), Find("x"));

        Assert.All(subscribers, subscriber => _index.RemoveClient(subscriber));
        Assert.Empty(Find("x"));
        Assert.Equal(0, _index.ChannelCount);
    }

    [Theory]
    [InlineData("")]
    [InlineData(".")]
    [InlineData("a.")]
    [InlineData(".a")]
    [InlineData("a..b")]
    [InlineData("a.*b")]
    [InlineData("a.>.b")]
    [InlineData("a.b>")]
    [InlineData("1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17")]
    public void A_name_outside_the_grammar_is_refused(string name)
    {
        Assert.Equal(ChannelNameKind.Invalid, ChannelName.KindOf(name));
        Assert.Throws<ArgumentException>(() => _index.Add(new TestSubscriber(1), name));
        Assert.Equal(0, _index.ChannelCount);
    }

    [Fact]
    public void A_name_of_257_characters_is_refused_and_one_of_256_is_not()
    {
        Assert.Equal(ChannelNameKind.Channel, ChannelName.KindOf(new string('a', 256)));
        Assert.Equal(ChannelNameKind.Invalid, ChannelName.KindOf(new string('a', 257)));
    }

    [Theory]
    [InlineData("a", ChannelNameKind.Channel)]
    [InlineData("session.my-app.stats", ChannelNameKind.Channel)]
    [InlineData("*", ChannelNameKind.Pattern)]
    [InlineData(">", ChannelNameKind.Pattern)]
    [InlineData("a.*.b.>", ChannelNameKind.Pattern)]
    [InlineData("1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16", ChannelNameKind.Channel)]
    internal void A_name_within_the_grammar_is_a_channel_or_a_pattern(string name, ChannelNameKind kind) =>
        Assert.Equal(kind, ChannelName.KindOf(name));

    private IEnumerable<int> Find(string channel) => IndexModel.Find(_index, channel, _matches);
}
