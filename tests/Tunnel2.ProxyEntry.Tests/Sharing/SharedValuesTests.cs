using System.Text;
using Tunnel2.ProxyEntry.Sharing;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Sharing;

/// <summary>How documents become values in force and files. Here a value is a text; one with an exclamation mark cannot be used.</summary>
public sealed class SharedValuesTests : ISharedValues<string>
{
    private const int Most = 3;

    private readonly Lock _gate = new();
    private readonly RecordedLog<SharedValuesTests> _log = new();
    private readonly SortedDictionary<string, string> _files = new(StringComparer.Ordinal);
    private readonly List<string> _written = [];
    private readonly SharedValues<string> _values;
    private IReadOnlyList<SharedValue<string>> _used = [];
    private bool _isDiskFull;
    private int _uses;
    private int _settled;

    public SharedValuesTests() => _values = new SharedValues<string>("texts", Most, "folder", _gate, this, _log);

    IReadOnlyList<SharedDocument> ISharedValues<string>.Own => [Document("own")];

    [Fact]
    public void The_first_documents_take_the_place_of_the_files_and_same_files_are_not_written()
    {
        (_files["a"], _files["b"], _files["old"]) = ("a", "b before", "old");
        Assert.Equal(1, _values.Follow(new SharedChanges(true, [Document("a"), Document("b")], [])));
        Assert.Equal(["a=a", "b=b"], Used());
        Assert.Equal(["a=a", "b=b"], Files());
        Assert.Equal(["-old", "+b"], _written);
        Assert.Equal("own", Assert.Single(_values.Own()).Key);
    }

    [Fact]
    public void Later_only_what_is_different_is_read_and_written()
    {
        _values.Follow(new SharedChanges(true, [Document("a"), Document("b"), Document("c")], []));
        _written.Clear();
        Assert.Equal(2, _values.Follow(new SharedChanges(false, [Document("b", "other")], ["c", "unknown"])));
        Assert.Equal(["a=a", "b=other"], Used());
        Assert.Equal(["-c", "+b"], _written);

        // Used, and not changed.
        _written.Clear();
        _values.Follow(new SharedChanges(false, [Document("b", "other") with { Touched = DateTimeOffset.UnixEpoch }], []));
        Assert.Equal(DateTimeOffset.UnixEpoch, _used[1].Touched);
        Assert.Empty(_written);
        var uses = _uses;
        Assert.Equal(0, _values.Follow(new SharedChanges(false, [], [])));
        Assert.Equal(uses, _uses);
    }

    [Fact]
    public void What_cannot_be_used_is_not_kept_harms_no_other_and_may_be_usable_later()
    {
        _values.Follow(new SharedChanges(true, [Document("a"), Document("b", "bad!")], []));
        Assert.Equal(["a=a", "b: it has a mark"], Used());
        Assert.Equal(["a=a"], Files());
        _values.Follow(new SharedChanges(false, [Document("a", "worse!"), Document("b")], []));
        Assert.Equal(["a: it has a mark", "b=b"], Used());
        Assert.Equal(["b=b"], Files());
    }

    [Fact]
    public void There_are_never_more_than_may_be_and_the_next_one_follows_when_there_is_room()
    {
        _values.Follow(new SharedChanges(true, [Document("a"), Document("b", "!"), Document("c"), Document("d"), Document("e")], []));
        Assert.Equal(["a=a", "b: it has a mark", "c=c", "d=d", "e: more than 3 texts are not used"], Used());
        Assert.Equal(["a=a", "c=c", "d=d"], Files());
        _values.Follow(new SharedChanges(false, [], ["c"]));
        Assert.Equal(["a=a", "b: it has a mark", "d=d", "e=e"], Used());
        Assert.Equal(["a=a", "d=d", "e=e"], Files());
    }

    [Fact]
    public void What_cannot_be_written_counts_all_the_same_and_is_written_with_the_next_change()
    {
        _isDiskFull = true;
        _values.Follow(new SharedChanges(true, [Document("a"), Document("b")], []));
        Assert.Equal(["a=a", "b=b"], Used());
        Assert.Equal(1, _settled);
        Assert.Single(_log.Of(2239));
        _isDiskFull = false;
        _values.Follow(new SharedChanges(false, [Document("c")], []));
        Assert.Equal(["a=a", "b=b", "c=c"], Files());
    }

    [Fact]
    public void Where_nothing_else_counts_no_session_is_looked_at()
    {
        _values.Follow(new SharedChanges(true, [Document("a")], []));
        Assert.Equal(0, _values.Follow(new SharedChanges(false, [Document("a")], [])));
        Assert.Equal((2, 1), (_uses, _settled));
    }

    string? ISharedValues<string>.Read(SharedDocument document, out string reason)
    {
        var text = Encoding.ASCII.GetString(document.Value);
        reason = "it has a mark";
        return text.EndsWith('!') ? null : $"{document.Key}={text}";
    }

    IReadOnlyDictionary<string, string> ISharedValues<string>.Load() => _files.ToDictionary(
        static file => file.Key, static file => $"{file.Key}={file.Value}", StringComparer.Ordinal);

    bool ISharedValues<string>.IsSame(string kept, string wanted) => kept == wanted;

    void ISharedValues<string>.Save(string value)
    {
        if (_isDiskFull)
        {
            throw new IOException("the disk is full");
        }

        var parts = value.Split('=');
        _files[parts[0]] = parts[1];
        _written.Add("+" + parts[0]);
    }

    void ISharedValues<string>.Delete(string value)
    {
        _files.Remove(value.Split('=')[0]);
        _written.Add("-" + value.Split('=')[0]);
    }

    bool ISharedValues<string>.Use(IReadOnlyList<SharedValue<string>> values)
    {
        Assert.True(_gate.IsHeldByCurrentThread);
        var isChanged = !values.Select(static one => one.Value).SequenceEqual(_used.Select(static one => one.Value));
        _used = values;
        _uses++;
        return isChanged;
    }

    int ISharedValues<string>.OnUsed()
    {
        Assert.False(_gate.IsHeldByCurrentThread);
        return ++_settled;
    }

    private static SharedDocument Document(string key, string? text = null) => new(key, Encoding.ASCII.GetBytes(text ?? key));

    private string[] Used() => [.. _used.Select(static one => one.Value ?? $"{one.Key}: {one.Reason}")];

    private string[] Files() => [.. _files.Select(static file => $"{file.Key}={file.Value}")];
}
