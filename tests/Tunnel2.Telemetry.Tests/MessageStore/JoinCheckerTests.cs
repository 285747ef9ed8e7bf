using System.Collections.Immutable;

namespace Tunnel2.Telemetry.Tests.MessageStore;

[Trait("Category", "Unit")]
public sealed class JoinCheckerTests
{
    private static readonly Dictionary<string, List<long>> _history = new() { ["a"] = [1, 2, 3, 4], ["b"] = [10, 20] };

    private static readonly Dictionary<(string Key, long Value), int> _positions = new()
    {
        [("a", 1)] = 0,
        [("a", 2)] = 1,
        [("a", 3)] = 2,
        [("a", 4)] = 3,
        [("b", 10)] = 0,
        [("b", 20)] = 1,
    };

    [Fact]
    public void A_snapshot_and_what_follows_it_pass() => Assert.Null(Check(Snapshot(("a", 2)), [("a", 3), ("b", 10), ("a", 4), ("b", 20)]));

    [Fact]
    public void A_lost_message_is_found() => Assert.NotNull(Check(Snapshot(("a", 1), ("b", 20)), [("a", 3), ("a", 4)]));

    [Fact]
    public void A_message_lost_at_the_end_is_found() => Assert.NotNull(Check(Snapshot(("a", 2), ("b", 20)), [("a", 3)]));

    [Fact]
    public void A_key_lost_altogether_is_found() => Assert.NotNull(Check(Snapshot(("a", 4)), []));

    [Fact]
    public void A_message_both_in_the_snapshot_and_live_is_found() =>
        Assert.NotNull(Check(Snapshot(("a", 3), ("b", 20)), [("a", 3), ("a", 4)]));

    [Fact]
    public void Swapped_messages_are_found() => Assert.NotNull(Check(Snapshot(("a", 2), ("b", 20)), [("a", 4), ("a", 3)]));

    [Fact]
    public void One_that_left_need_not_have_seen_the_end() => Assert.Null(Check(Snapshot(("a", 2)), [("a", 3)], untilTheEnd: false));

    private static ImmutableArray<KeyValuePair<string, long>> Snapshot(params (string Key, long Value)[] messages) =>
        [.. messages.Select(message => KeyValuePair.Create(message.Key, message.Value))];

    private static string? Check(
        ImmutableArray<KeyValuePair<string, long>> snapshot, (string Key, long Value)[] live, bool untilTheEnd = true) =>
        JoinChecker.Check(_history, _positions, snapshot, live, untilTheEnd);
}
