using System.IO.Pipelines;

namespace Tunnel2.Multiplexing.Tests.InMemory;

/// <summary>A scheduler whose work runs when the test says so, in the order it came.</summary>
internal sealed class ManualScheduler : PipeScheduler
{
    private readonly object _gate = new();
    private readonly Queue<(Action<object?> Action, object? State)> _work = new(1024);

    public override void Schedule(Action<object?> action, object? state)
    {
        lock (_gate)
        {
            _work.Enqueue((action, state));
            Monitor.Pulse(_gate);
        }
    }

    /// <summary>Runs one piece of work.</summary>
    public bool RunOne()
    {
        (Action<object?> Action, object? State) work;
        lock (_gate)
        {
            if (!_work.TryDequeue(out work))
            {
                return false;
            }
        }

        work.Action(work.State);
        return true;
    }

    /// <summary>Runs work until there is none.</summary>
    /// <returns>How many pieces.</returns>
    public int RunAll()
    {
        var ran = 0;
        while (RunOne())
        {
            ran++;
        }

        return ran;
    }

    /// <summary>Runs work until a task has completed.</summary>
    public void Pump(Task task, TimeSpan limit)
    {
        var until = Environment.TickCount64 + (long)limit.TotalMilliseconds;
        while (!task.IsCompleted)
        {
            Assert.True(Environment.TickCount64 < until, "The time is over.");
            if (!RunOne() && !task.IsCompleted && !WaitForWork() && !task.IsCompleted)
            {
                Assert.Fail("The test waits, and nothing is left to run: a wake-up was lost.");
            }
        }

        task.GetAwaiter().GetResult();
    }

    /// <summary>Work may still come from another thread.</summary>
    private bool WaitForWork()
    {
        lock (_gate)
        {
            return _work.Count > 0 || Monitor.Wait(_gate, TimeSpan.FromSeconds(5));
        }
    }
}
