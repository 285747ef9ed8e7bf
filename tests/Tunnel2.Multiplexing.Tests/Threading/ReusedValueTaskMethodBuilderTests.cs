using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Threading.Tasks.Sources;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.Multiplexing.Tests.Threading;

public sealed class ReusedValueTaskMethodBuilderTests
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly AsyncLocal<string?> _local = new();

    [Fact]
    public void A_method_that_does_not_wait_has_run_when_it_returns()
    {
        var signals = new Signal[] { Signal.Set() };
        var task = SumAsync(signals, out var sum);
        Assert.True(task.IsCompletedSuccessfully);
        Assert.Equal(1, sum.Value);
    }

    [Fact]
    public async Task It_continues_where_it_waited_as_often_as_it_waits()
    {
        var signals = new Signal[] { new(), new(), new() };
        var task = SumAsync(signals, out var sum);
        for (var i = 0; i < signals.Length; i++)
        {
            Assert.Equal(i, sum.Value);
            Assert.False(task.IsCompleted);
            signals[i].Complete();
        }

        Assert.True(task.IsCompletedSuccessfully);
        await task;
        Assert.Equal(3, sum.Value);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task What_it_throws_is_thrown_by_its_task(bool waits)
    {
        var signal = waits ? new Signal() : Signal.Set();
        var task = ThrowAsync(signal);
        signal.Complete();
        Assert.True(task.IsFaulted);
        Assert.Equal("on purpose", (await Assert.ThrowsAsync<InvalidTimeZoneException>(() => task.AsTask())).Message);
    }

    [Fact]
    [SuppressMessage("Reliability", "CA2012", Justification = "Asking twice, and too early, is what is tested.")]
    [SuppressMessage("Usage", "xUnit1031", Justification = "Asking twice, and too early, is what is tested.")]
    public void Its_task_can_be_asked_for_its_result_once()
    {
        var signal = new Signal();
        var task = SumAsync([signal], out _);
        Assert.Throws<InvalidOperationException>(() => task.GetAwaiter().GetResult());
        signal.Complete();
        task.GetAwaiter().GetResult();
        Assert.Throws<InvalidOperationException>(() => task.GetAwaiter().GetResult());
    }

    [Fact]
    public void As_many_as_wait_at_once_are_kept()
    {
        var signals = Enumerable.Range(0, 200).Select(static _ => new Signal()).ToArray();
        var counter = new StrongBox<int>();
        Round(signals, counter);
        Round(signals, counter);
        var before = GC.GetAllocatedBytesForCurrentThread();
        for (var i = 0; i < 20; i++)
        {
            Round(signals, counter);
        }

        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
        Assert.Equal(200 * 22, counter.Value);
    }

    [Fact]
    public async Task What_flows_with_the_caller_flows_with_the_method_and_nothing_of_it_comes_back()
    {
        var signal = new Signal();
        _local.Value = "caller";
        var seen = new List<string?>();
        var task = SetLocalAsync(signal, seen);
        Assert.Equal("caller", _local.Value);
        _local.Value = "changed";
        await Task.Run(signal.Complete).WaitAsync(_limit);
        Assert.Equal("changed", _local.Value);
        Assert.True(task.IsCompletedSuccessfully);
        await task;
        Assert.Equal(["caller", "method", "method"], seen);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Calls_that_end_on_other_threads_never_meet(int seed)
    {
        var random = new Random(seed);
        for (var round = 0; round < 200; round++)
        {
            var count = random.Next(1, 40);
            var expected = Enumerable.Range(0, count).Select(_ => random.Next()).ToArray();
            var signals = expected.Select(static _ => new Signal()).ToArray();
            var found = new int[count];
            var tasks = expected.Select((value, i) => Task.Run(() => StoreAsync(signals[i], found, i, value).AsTask())).ToArray();
            var completing = signals.Select(static signal => Task.Run(signal.Complete)).ToArray();
            await Task.WhenAll([.. tasks, .. completing]).WaitAsync(_limit);
            Assert.True(expected.SequenceEqual(found), $"seed {seed}, round {round}");
        }
    }

    [SuppressMessage("Reliability", "CA2012", Justification = "Awaited by hand, and once: a state machine would allocate.")]
    private static void Round(Signal[] signals, StrongBox<int> counter)
    {
        foreach (var signal in signals)
        {
            signal.Reset();
            signal.Waiting = CountAsync(signal, counter).GetAwaiter();
        }

        foreach (var signal in signals)
        {
            signal.Complete();
            signal.Waiting.GetResult();
        }
    }

    [AsyncMethodBuilder(typeof(ReusedValueTaskMethodBuilder))]
    private static async ValueTask CountAsync(Signal signal, StrongBox<int> counter)
    {
        await signal.WaitAsync().ConfigureAwait(false);
        counter.Value++;
    }

    private static ValueTask SumAsync(Signal[] signals, out StrongBox<int> sum) => SumAsync(signals, sum = new StrongBox<int>());

    [AsyncMethodBuilder(typeof(ReusedValueTaskMethodBuilder))]
    private static async ValueTask SumAsync(Signal[] signals, StrongBox<int> sum)
    {
        foreach (var signal in signals)
        {
            await signal.WaitAsync().ConfigureAwait(false);
            sum.Value++;
        }
    }

    [AsyncMethodBuilder(typeof(ReusedValueTaskMethodBuilder))]
    private static async ValueTask ThrowAsync(Signal signal)
    {
        await signal.WaitAsync().ConfigureAwait(false);
        throw new InvalidTimeZoneException("on purpose");
    }

    [AsyncMethodBuilder(typeof(ReusedValueTaskMethodBuilder))]
    private async ValueTask SetLocalAsync(Signal signal, List<string?> seen)
    {
        seen.Add(_local.Value);
        _local.Value = "method";
        seen.Add(_local.Value);
        await signal.WaitAsync().ConfigureAwait(false);
        seen.Add(_local.Value);
    }

    [AsyncMethodBuilder(typeof(ReusedValueTaskMethodBuilder))]
    private static async ValueTask StoreAsync(Signal signal, int[] found, int index, int value)
    {
        await signal.WaitAsync().ConfigureAwait(false);
        found[index] = value;
    }

    /// <summary>A wait that allocates nothing and continues its awaiter inside of <see cref="Complete"/>.</summary>
    private sealed class Signal : IValueTaskSource
    {
        private ManualResetValueTaskSourceCore<bool> _source;
        private int _completed;

        public ValueTaskAwaiter Waiting { get; set; }

        public static Signal Set()
        {
            var signal = new Signal();
            signal.Complete();
            return signal;
        }

        public void Complete()
        {
            if (Interlocked.Exchange(ref _completed, 1) == 0)
            {
                _source.SetResult(true);
            }
        }

        public void Reset()
        {
            _source.Reset();
            _completed = 0;
        }

        public ValueTask WaitAsync() => new(this, _source.Version);

        public void GetResult(short token) => _source.GetResult(token);

        public ValueTaskSourceStatus GetStatus(short token) => _source.GetStatus(token);

        public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
            _source.OnCompleted(continuation, state, token, flags);
    }
}
