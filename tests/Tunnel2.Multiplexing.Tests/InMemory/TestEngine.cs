using System.Diagnostics;
using System.IO.Pipelines;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.Multiplexing.Tests.InMemory;

/// <summary>
/// Runs a test's body as one of the engines would. Inline, everything happens on the test's own thread, and a body that waits for
/// something that nothing will bring is found out, not waited for.
/// </summary>
internal sealed class TestEngine
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(40);

    private readonly ManualScheduler? _manual;

    private TestEngine(EngineKind kind)
    {
        Kind = kind;
        _manual = kind == EngineKind.Inline ? new ManualScheduler() : null;
    }

    public EngineKind Kind { get; }

    public PipeScheduler Scheduler => (PipeScheduler?)_manual ?? PipeScheduler.ThreadPool;

    public static async Task RunAsync(EngineKind kind, Func<TestEngine, Task> body)
    {
        var engine = new TestEngine(kind);
        if (kind == EngineKind.Pool)
        {
            await Task.Run(() => body(engine)).WaitAsync(_limit);
            return;
        }

        // A thread of its own: without a synchronization context, and without the runner's continuations on it.
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var thread = new Thread(() =>
        {
            try
            {
                engine._manual!.Pump(body(engine), _limit);
                done.SetResult();
            }
            catch (Exception exception)
            {
                done.SetException(exception);
            }
        })
        {
            IsBackground = true,
        };
        thread.Start();
        await done.Task;
    }

    public UplinkSettings Apply(UplinkSettings settings) => Kind == EngineKind.Inline
        ? settings with { WriterScheduler = Scheduler, InlineContinuations = true, QuietStreams = 2 }
        : settings with { WriterScheduler = Scheduler, InlineContinuations = false, QuietStreams = -1 };

    /// <summary>Starts work as the engine would: inline at once, else on the pool.</summary>
    public Task Start(Func<Task> work) => Kind == EngineKind.Inline ? work() : Task.Run(work);

    public Task<T> Start<T>(Func<Task<T>> work) => Kind == EngineKind.Inline ? work() : Task.Run(work);

    /// <summary>Lets everything else that is ready happen before what follows.</summary>
    public async Task YieldAsync(int rounds = 1)
    {
        for (var i = 0; i < rounds; i++)
        {
            if (_manual is not null)
            {
                await new SchedulerYield(_manual);
            }
            else
            {
                await Task.Yield();
            }
        }
    }

    /// <summary>Yields until a condition holds.</summary>
    public async Task UntilAsync(Func<bool> condition, string what)
    {
        var since = Stopwatch.GetTimestamp();
        while (!condition())
        {
            Assert.True(Stopwatch.GetElapsedTime(since) < TimeSpan.FromSeconds(20), $"It never came to this: {what}.");
            await YieldAsync();
        }
    }
}
