using System.Runtime.CompilerServices;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Telemetry.Aggregation;

/// <summary>The statistics of one session in one window; mergeable. Reused. Not thread-safe.</summary>
/// <remarks>
/// The histogram is inside the object. With more cells than the caches hold, the cache line of its bucket is fetched at the same time as
/// the line of the counters, not after it.
/// </remarks>
internal sealed class WindowCell
{
    private Dictionary<ushort, long>? _errorsByCode;
    private Buckets _latencies;

    internal long Requests { get; private set; }

    internal long Errors { get; private set; }

    internal ulong BytesIn { get; private set; }

    internal ulong BytesOut { get; private set; }

    /// <summary>Requests that failed, by error code; null when none did.</summary>
    internal IReadOnlyDictionary<ushort, long>? ErrorsByCode => Errors == 0 ? null : _errorsByCode;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Add(in RequestSample sample)
    {
        Requests += sample.Requests;
        BytesIn += sample.BytesIn;
        BytesOut += sample.BytesOut;
        _latencies[LogLinearHistogram.Index(sample.LatencyMicroseconds)] += sample.Requests;
        if (sample.ErrorCode != 0)
        {
            AddErrors(sample.ErrorCode, 1);
        }
    }

    /// <summary>How many requests each bucket of <see cref="LogLinearHistogram"/> has.</summary>
    internal ReadOnlySpan<uint> Latencies => _latencies;

    /// <summary>Adds what is known of many requests at once, without their durations and errors.</summary>
    internal void AddTotals(long requests, ulong bytesIn, ulong bytesOut)
    {
        Requests += requests;
        BytesIn += bytesIn;
        BytesOut += bytesOut;
    }

    /// <summary>Adds the durations of many requests.</summary>
    internal void AddLatencies(int bucket, uint count) => _latencies[bucket] += count;

    internal void Merge(WindowCell other)
    {
        Requests += other.Requests;
        BytesIn += other.BytesIn;
        BytesOut += other.BytesOut;
        ReadOnlySpan<uint> from = other._latencies;
        Span<uint> to = _latencies;
        int i = 0;
        for (; i <= from.Length - System.Numerics.Vector<uint>.Count; i += System.Numerics.Vector<uint>.Count)
        {
            (new System.Numerics.Vector<uint>(from[i..]) + new System.Numerics.Vector<uint>(to[i..])).CopyTo(to[i..]);
        }

        for (; i < from.Length; i++)
        {
            to[i] += from[i];
        }

        if (other.ErrorsByCode is { } errors)
        {
            foreach ((ushort code, long count) in errors)
            {
                AddErrors(code, count);
            }
        }
    }

    /// <summary>The result of this window, with its quantiles.</summary>
    internal WindowResult ToResult(int key, long start, int seconds) => new(
        key,
        start,
        seconds,
        Requests,
        Errors,
        BytesIn,
        BytesOut,
        LogLinearHistogram.Quantile(_latencies, Requests, 0.5),
        LogLinearHistogram.Quantile(_latencies, Requests, 0.95),
        LogLinearHistogram.Quantile(_latencies, Requests, 0.99));

    internal void Clear()
    {
        ((Span<uint>)_latencies).Clear();
        _errorsByCode?.Clear();
        Requests = 0;
        Errors = 0;
        BytesIn = 0;
        BytesOut = 0;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    internal void AddErrors(ushort code, long count)
    {
        Errors += count;
        _errorsByCode ??= [];
        System.Runtime.InteropServices.CollectionsMarshal.GetValueRefOrAddDefault(_errorsByCode, code, out _) += count;
    }

    [InlineArray(LogLinearHistogram.BucketCount)]
    private struct Buckets
    {
        private uint _first;
    }
}
