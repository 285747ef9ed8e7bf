using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Tests.Sharing;

/// <summary>What is different in a set, and when what has changed does not explain it.</summary>
public sealed class SharedIndexTests
{
    private readonly SharedIndex _index = new();

    [Fact]
    public void The_first_set_is_all_there_is_and_a_later_one_gives_what_is_different()
    {
        var first = Set(Document("a", 1), Document("b", 2), Document("c", 3));
        var changes = _index.CompareAll(first);
        Assert.True(changes.IsFirst);
        Assert.Equal(["a", "b", "c"], Keys(changes));
        _index.Take(changes, first);
        Assert.Equal(3, _index.Since);

        // An older copy was put back: one is as it was, one is gone, one is another.
        var other = Set(Document("a", 1), Document("c", 2));
        changes = _index.CompareAll(other);
        Assert.False(changes.IsFirst);
        Assert.Equal(["c"], Keys(changes));
        Assert.Equal(["b"], changes.Gone);
        _index.Take(changes, other);
        Assert.Equal(2, _index.Since);
        Assert.True(_index.CompareAll(other).IsEmpty);
    }

    [Fact]
    public void What_has_changed_is_followed_where_it_leads_to_the_sum()
    {
        Take(Document("a", 1), Document("b", 2), Document("c", 3));
        SharedDocument[] after = [Document("a", 1), Document("c", 6), Document("d", 5)];
        var changed = Set(after) with { Documents = after[1..], Gone = ["b", "never", "c"], Newest = 6 };
        var changes = _index.CompareChanged(changed)!;
        Assert.Equal(["c", "d"], Keys(changes));
        Assert.Equal(["b"], changes.Gone);
        _index.Take(changes, changed);
        Assert.Equal(6, _index.Since);
        Assert.True(_index.CompareChanged(changed with { Documents = [], Gone = [] })!.IsEmpty);
    }

    [Theory]
    [InlineData("removed, and not noted")]
    [InlineData("written late")]
    [InlineData("put back")]
    [InlineData("emptied")]
    public void What_does_not_lead_to_the_sum_is_not_followed(string what)
    {
        Take(Document("a", 1), Document("b", 2));
        SharedDocument[] there = what switch
        {
            "removed, and not noted" => [Document("b", 2)],
            "written late" => [Document("a", 1), Document("b", 2), Document("late", 1)],
            "put back" => [Document("a", 1), Document("b", 1)],
            _ => [],
        };
        Assert.Null(_index.CompareChanged(Set(there) with { Documents = [] }));
    }

    [Fact]
    public void Of_more_documents_than_may_be_read_all_are_read_again()
    {
        var cut = Set(Document("a", 1), Document("b", 2)) with { Documents = [Document("a", 1)] };
        _index.Take(_index.CompareAll(cut), cut);
        Assert.Equal(0, _index.Since);
    }

    private static SharedDocument Document(string key, long version) =>
        new(key, [1], version, Mark: HashCode.Combine(key, version));

    private static SharedSet Set(params SharedDocument[] documents) => new(
        Guid.Empty, documents, [], documents.Aggregate(default(SharedSum), static (sum, one) => sum.With(one.Mark)),
        documents.Select(static document => document.Version).Append(0).Max());

    private static string[] Keys(SharedChanges changes) => [.. changes.Put.Select(static document => document.Key)];

    private void Take(params SharedDocument[] documents)
    {
        var set = Set(documents);
        _index.Take(_index.CompareAll(set), set);
    }
}
