using System.Buffers;
using System.Text.Json;
using Tunnel2.ProxyEntry.ClusterView;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.Records;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.ClusterView;

public sealed class ClusterStatisticsTests
{
    private readonly ManualTimeProvider _clock = new();
    private readonly List<(long Start, int Seconds, int Nodes, WindowCell Cell)> _sums = [];
    private readonly ClusterStatistics _statistics;

    public ClusterStatisticsTests() =>
        _statistics = new ClusterStatistics(_clock, (start, seconds, nodes, cell) => _sums.Add((start, seconds, nodes, cell)));

    private long Second => (_clock.GetUtcNow() - DateTimeOffset.UnixEpoch).Ticks / 10 / WatermarkFilter.Second * WatermarkFilter.Second;

    [Fact]
    public void Quantiles_are_those_of_all_requests_of_all_nodes()
    {
        // 90 fast ones at one node, 10 slow ones at another: the mean of two medians would be 25 ms.
        _statistics.Take("n1", Window(Second, 90, 1_000));
        _statistics.Take("n2", Window(Second, 10, 50_000, errorCode: 21));
        _statistics.Look(nodes: 2);
        var (start, seconds, nodes, cell) = Assert.Single(_sums);
        Assert.Equal((Second, 1, 2), (start, seconds, nodes));
        var result = cell.ToResult(0, start, seconds);
        Assert.Equal((100L, 10L), (result.Requests, result.Errors));
        Assert.InRange(result.P50, 960u, 1_040u);
        Assert.InRange(result.P95, 48_000u, 52_000u);
        Assert.Equal(10, cell.ErrorsByCode![21]);
    }

    [Fact]
    public void A_window_waits_a_moment_for_a_node_that_has_none_and_is_given_out_once()
    {
        _statistics.Take("n1", Window(Second, 1, 100));
        _statistics.Look(nodes: 3);
        Assert.Empty(_sums);
        _clock.Advance(ClusterStatistics.Patience);
        _statistics.Look(nodes: 3);
        _statistics.Look(nodes: 3);
        Assert.Equal(1, Assert.Single(_sums).Nodes);
    }

    [Fact]
    public void What_comes_after_its_sum_is_in_the_next_one()
    {
        var start = Second;
        _statistics.Take("n1", Window(start, 1, 100));
        _statistics.Look(nodes: 1);
        _statistics.Take("n2", Window(start, 4, 100));
        _statistics.Look(nodes: 1);
        Assert.Equal([start, start + WatermarkFilter.Second], _sums.Select(static sum => sum.Start));
        Assert.Equal(4, _sums[1].Cell.Requests);
    }

    [Fact]
    public void A_node_whose_clock_is_wrong_counts_by_when_its_window_came()
    {
        var hour = 3600 * WatermarkFilter.Second;
        _statistics.Take("n1", Window(Second - WatermarkFilter.Second, 1, 100));
        _statistics.Take("n2", Window(Second - hour, 2, 100));
        _statistics.Take("n3", Window(Second + hour, 4, 100));
        _statistics.Look(nodes: 3);
        Assert.Equal(7, Assert.Single(_sums).Cell.Requests);
    }

    [Fact]
    public void No_more_windows_are_open_than_the_limit()
    {
        for (var i = 0; i <= ClusterStatistics.MostOpen; i++)
        {
            _statistics.Take("n1", Window(Second, 1, 100));
            _clock.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Single(_sums);
    }

    [Fact]
    public void A_window_passes_as_a_message()
    {
        var sent = Window(Second, 5, 123_456, errorCode: 30);
        var read = Read(Written(sent));
        Assert.NotNull(read);
        Assert.Equal((sent.Start, 1, 3, 7L), (read.Start, read.Seconds, read.Sessions, read.Missed));
        Assert.True(sent.Cell.Latencies.SequenceEqual(read.Cell.Latencies));
        Assert.Equal(sent.Cell.ToResult(0, 0, 1), read.Cell.ToResult(0, 0, 1));
        Assert.Equal(sent.Cell.ErrorsByCode, read.Cell.ErrorsByCode);
    }

    [Theory]
    [InlineData("\"seconds\":1", "\"seconds\":7")]
    [InlineData("\"requests\":5", "\"requests\":-5")]
    [InlineData("\"requests\":5", "\"requests\":\"5\"")]
    [InlineData("\"latencies\":[", "\"latencies\":[99999,1,")]
    [InlineData("\"latencies\":[", "\"latencies\":[-1,1,")]
    [InlineData("\"errors\":[", "\"errors\":[1,-1,")]
    [InlineData("\"bytesIn\"", "\"bytes\"")]
    public void What_is_no_window_is_left_out(string valid, string wrong)
    {
        var text = Written(Window(Second, 5, 1_000, errorCode: 30));
        Assert.Contains(valid, text, StringComparison.Ordinal);
        Assert.Null(Read(text.Replace(valid, wrong, StringComparison.Ordinal)));
    }

    [Fact]
    public void An_error_of_a_later_release_keeps_its_number()
    {
        var read = Read(Written(Window(Second, 2, 100, errorCode: 30)).Replace("[30,", "[60000,", StringComparison.Ordinal));
        Assert.Equal(2, read!.Cell.ErrorsByCode![60000]);
    }

    private static CellMessage Window(long start, int requests, uint latency, ushort errorCode = 0)
    {
        var cell = new WindowCell();
        cell.AddTotals(requests, (ulong)requests, 2 * (ulong)requests);
        cell.AddLatencies(LogLinearHistogram.Index(latency), (uint)requests);
        if (errorCode != 0)
        {
            cell.AddErrors(errorCode, requests);
        }

        return new CellMessage(start, 1, 3, 7, cell);
    }

    private static string Written(CellMessage message)
    {
        var buffer = new ArrayBufferWriter<byte>();
        using (var json = new Utf8JsonWriter(buffer))
        {
            message.Write(json);
        }

        return System.Text.Encoding.UTF8.GetString(buffer.WrittenSpan);
    }

    private static CellMessage? Read(string text)
    {
        using var document = JsonDocument.Parse(text);
        return CellMessage.Read(document.RootElement);
    }
}
