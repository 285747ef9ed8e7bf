using Tunnel2.Laboratory.Aggregation;
using Tunnel2.Telemetry.Aggregation;
using SharedPipeline = Tunnel2.Laboratory.Aggregation.SplitPipeline<
    Tunnel2.Laboratory.Aggregation.SumRecord, Tunnel2.Laboratory.Aggregation.SumHash, Tunnel2.Laboratory.Aggregation.SharedSums>;

namespace Tunnel2.Laboratory.Tests.Aggregation;

public sealed class SharedSumsTests
{
    public static TheoryData<string> Ways => [.. SharedSums.Ways.Select(way => way.Name)];

    [Theory]
    [MemberData(nameof(Ways))]
    public void Threads_that_share_a_state_lose_no_record(string name)
    {
        const int Threads = 4;
        SumRecord[] records = [.. Enumerable.Range(0, 100_000).Select(i => new SumRecord(i % 10, i % 100))];
        using SharedSums shared = SharedSums.Ways.Single(way => way.Name == name).Create(10);
        PipelineReport report = SharedPipeline.Run(
            [.. records.Chunk(records.Length / Threads).Select(part => new MemorySource<SumRecord>(part, 100))],
            [.. Enumerable.Repeat(shared, Threads)]);
        long[] sums = new long[10];
        Array.ForEach(records, r => sums[r.Group] += r.Value);
        Assert.Equal(sums, shared.Sums());
        Assert.Equal(records.Length, report.Records);
    }
}
