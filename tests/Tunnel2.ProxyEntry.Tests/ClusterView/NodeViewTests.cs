using System.Buffers;
using System.Text.Json;
using Tunnel2.ProxyEntry.ClusterView;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.ClusterView;

public sealed class NodeViewTests
{
    private readonly ManualTimeProvider _clock = new();
    private readonly NodeView _node;

    public NodeViewTests() => _node = new NodeView("n1", isHere: false, _clock);

    [Fact]
    public void A_node_that_is_silent_is_lost_and_its_last_values_stay_but_count_in_no_sum()
    {
        _node.Hear();
        _node.Take(Window(12));
        Assert.Equal(("up", 12, 4), (State(), Requests(), _node.Sessions));
        _clock.Advance(NodeView.Silence - TimeSpan.FromMilliseconds(1));
        _node.Look();
        Assert.Equal("up", State());
        _clock.Advance(TimeSpan.FromMilliseconds(1));
        _node.Look();
        Assert.Equal(("lost", 12, false, 0), (State(), Requests(), _node.IsCounted, _node.Sessions));
        Assert.Equal(4, Written().GetProperty("sessions").GetInt32());
        Assert.Equal("it does not answer", Written().GetProperty("problem").GetString());
    }

    [Fact]
    public void It_is_back_with_its_next_message()
    {
        _clock.Advance(NodeView.Silence);
        _node.Look();
        Assert.Equal("lost", State());
        Assert.Equal(NodeView.Silence, _node.LostFor);
        _node.Hear();
        _node.Look();
        Assert.Equal(("up", TimeSpan.Zero), (State(), _node.LostFor));
        Assert.False(Written().TryGetProperty("problem", out _));
    }

    [Fact]
    public void One_that_was_lost_before_is_shown_with_the_moment_of_that_and_forgotten_by_it()
    {
        var at = _clock.GetUtcNow() - TimeSpan.FromMinutes(7);
        _node.MarkLost(at);
        Assert.Equal(("lost", TimeSpan.FromMinutes(7)), (State(), _node.LostFor));
        foreach (var member in new[] { "heardMs", "sinceMs" })
        {
            Assert.Equal(at.ToUnixTimeMilliseconds(), Written().GetProperty(member).GetInt64());
        }
    }

    [Fact]
    public void One_that_answers_without_requests_has_zeros()
    {
        _node.Hear();
        _node.Take(Window(12));
        _clock.Advance(TimeSpan.FromSeconds(3));
        _node.Hear();
        Assert.Equal(("up", 0), (State(), Requests()));
    }

    [Fact]
    public void An_older_release_says_so_and_is_not_lost()
    {
        _node.Fail("no live view (older release)", isOlder: true);
        _clock.Advance(TimeSpan.FromHours(1));
        _node.Look();
        Assert.Equal(("older", TimeSpan.Zero), (State(), _node.LostFor));
    }

    [Fact]
    public void What_a_node_says_is_cut_to_a_length()
    {
        using var document = JsonDocument.Parse($$"""{"version":"{{new string('v', 5000)}}","trouble":7,"sessions":-3,"uplinks":"x"}""");
        _node.TakeInfo(document.RootElement);
        _node.TakeLoad(document.RootElement);
        _node.Hear();
        Assert.Equal((200, 0), (Written().GetProperty("version").GetString()!.Length, _node.Sessions));
        Assert.False(Written().TryGetProperty("trouble", out _));
    }

    private static CellMessage Window(int requests)
    {
        var cell = new WindowCell();
        cell.AddTotals(requests, 0, 0);
        return new CellMessage(0, 1, 4, 0, cell);
    }

    private string State() => Written().GetProperty("state").GetString()!;

    private int Requests() => Written().GetProperty("last").GetProperty("requests").GetInt32();

    private JsonElement Written()
    {
        var buffer = new ArrayBufferWriter<byte>();
        using (var json = new Utf8JsonWriter(buffer))
        {
            _node.Write(json);
        }

        return JsonDocument.Parse(buffer.WrittenMemory).RootElement;
    }
}
