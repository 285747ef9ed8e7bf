using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Telemetry.Tests.MessageStore;

[Trait("Category", "Unit")]
public sealed class MessageTableTests
{
    [Fact]
    public void Keys_picked_to_collide_are_found_and_deleted_and_do_not_form_one_chain()
    {
        // All keys come with the same hash, as an attacker would have it; ten thousand of them in one chain take tens of seconds.
        const int Keys = 10_000;
        const int Hash = 42;
        var table = new MessageTable<int>(0);
        table.Enter();
        for (int i = 0; i < Keys; i++)
        {
            table.SetUnsynchronized($"key {i}", Hash, i);
        }

        Assert.InRange(table.LongestChainUnsynchronized(), 1, 20);
        for (int i = 0; i < Keys; i++)
        {
            Assert.True(table.TryGetUnsynchronized($"key {i}", Hash, out int value));
            Assert.Equal(i, value);
            Assert.True(table.TryDeleteUnsynchronized($"key {i}", Hash));
        }

        Assert.Equal(0, table.CountUnsynchronized);
        table.Exit();
    }

    [Fact]
    public void Numbered_keys_spread_over_the_buckets()
    {
        var table = new MessageTable<int>(0);
        table.Enter();
        for (int i = 0; i < 50_000; i++)
        {
            string key = $"session.{i}.requests";
            table.SetUnsynchronized(key, KeyHash.Of(key), i);
        }

        Assert.InRange(table.LongestChainUnsynchronized(), 1, 60);
        table.Exit();
    }

    [Fact]
    public void Equal_keys_of_any_length_have_equal_hashes()
    {
        for (int length = 0; length < 40; length++)
        {
            string key = new([.. Enumerable.Range(0, length).Select(i => (char)('a' + i))]);
            Assert.Equal(KeyHash.Of(key), KeyHash.Of(new string(key.AsSpan())));
            Assert.NotEqual(KeyHash.Of(key), KeyHash.Of(key + "x"));
        }
    }
}
