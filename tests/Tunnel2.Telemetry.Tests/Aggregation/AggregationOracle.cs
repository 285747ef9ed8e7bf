using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Telemetry.Tests.Aggregation;

/// <summary>The same statistics the plain way: one record after the other, one dictionary, no windows ever closed early.</summary>
internal static class AggregationOracle
{
    internal static List<WindowResult> Windows(IEnumerable<RequestSample> samples, long latenessMicroseconds, out long late)
    {
        var cells = new Dictionary<(int Seconds, long Start, int Key), List<RequestSample>>();
        late = 0;
        long latest = long.MinValue;
        foreach (RequestSample sample in samples)
        {
            long time = sample.EndedUnixMicroseconds;
            latest = Math.Max(latest, time);
            if (((time / 1_000_000) + 1) * 1_000_000 <= latest - latenessMicroseconds)
            {
                late++;
                continue;
            }

            foreach (int seconds in new[] { 1, 10, 60 })
            {
                long length = seconds * 1_000_000L;
                (int, long, int) key = (seconds, time / length * length, sample.Key);
                if (!cells.TryGetValue(key, out List<RequestSample>? list))
                {
                    cells.Add(key, list = []);
                }

                list.Add(sample);
            }
        }

        return [.. cells.OrderBy(c => c.Key).Select(c =>
        {
            uint[] sorted = [.. c.Value.Select(s => s.LatencyMicroseconds).Order()];
            return new WindowResult(
                c.Key.Key,
                c.Key.Start,
                c.Key.Seconds,
                c.Value.Count,
                c.Value.Count(s => s.ErrorCode != 0),
                c.Value.Aggregate(0UL, (sum, s) => sum + s.BytesIn),
                c.Value.Aggregate(0UL, (sum, s) => sum + s.BytesOut),
                Quantile(sorted, 0.5),
                Quantile(sorted, 0.95),
                Quantile(sorted, 0.99));
        })];
    }

    /// <summary>Random traffic over some minutes with disorder, bursts, pauses and some records that are late.</summary>
    internal static RequestSample[] Traffic(int seed, int count, int keys, int disorderMicroseconds = 3_000_000)
    {
        var random = new Random(seed);
        long time = 1_767_225_600_000_000 + random.Next(60_000_000);
        var samples = new RequestSample[count];
        for (int i = 0; i < count; i++)
        {
            time += random.Next(20_000_000 / Math.Max(1, count / 20));
            if (random.Next(count) < 3)
            {
                time += random.Next(200_000_000); // A pause, up to several minutes.
            }

            samples[i] = new RequestSample(
                time - (random.Next(4) == 0 ? random.Next(disorderMicroseconds + 1) : 0),
                random.Next(keys),
                (uint)Math.Exp(random.NextDouble() * 16),
                (ulong)random.Next(10_000),
                (ulong)random.Next(1_000_000),
                (ushort)(random.Next(10) == 0 ? random.Next(1, 5) : 0));
        }

        return samples;
    }

    private static uint Quantile(uint[] sorted, double q) =>
        LogLinearHistogram.Middle(LogLinearHistogram.Index(sorted[Math.Max(0, (int)Math.Ceiling(q * sorted.Length) - 1)]));
}

/// <summary>Samples in memory, through the watermark's filter.</summary>
internal sealed class SampleSource : IRecordSource<RequestSample>
{
    private readonly RequestSample[] _samples;
    private readonly WatermarkFilter _filter;
    private readonly RequestSample[] _batch;
    private int _at;

    internal SampleSource(RequestSample[] samples, WatermarkFilter filter, int batchSize)
    {
        _samples = samples;
        _filter = filter;
        _batch = new RequestSample[batchSize];
    }

    public long Watermark => _filter.Watermark;

    public bool TryRead(out ReadOnlySpan<RequestSample> batch)
    {
        int count = 0;
        int end = Math.Min(_samples.Length, _at + _batch.Length);
        bool any = _at < end;
        for (; _at < end; _at++)
        {
            if (_filter.Admit(_samples[_at].EndedUnixMicroseconds))
            {
                _batch[count++] = _samples[_at];
            }
        }

        batch = _batch.AsSpan(0, count);
        return any;
    }
}
