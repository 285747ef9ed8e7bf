using System.IO.Pipelines;

namespace Tunnel2.Benchmarks.Multiplexing;

/// <summary>
/// An event loop without sockets: what is scheduled waits for the next round, and <see cref="RunUntil"/> runs rounds on the caller's
/// thread. Not thread-safe: everything of a benchmark happens on that thread.
/// </summary>
internal sealed class InlineScheduler : PipeScheduler
{
    private readonly Queue<(Action<object?> Action, object? State)> _work = new();

    public override void Schedule(Action<object?> action, object? state) => _work.Enqueue((action, state));

    /// <summary>Runs what is scheduled until a task is complete.</summary>
    /// <exception cref="InvalidOperationException">Nothing is left to run, and the task is not complete: it would never be.</exception>
    public T RunUntil<T>(Task<T> task)
    {
        while (!task.IsCompleted)
        {
            if (!_work.TryDequeue(out var work))
            {
                throw new InvalidOperationException("Nothing is left to run.");
            }

            work.Action(work.State);
        }

        return task.GetAwaiter().GetResult();
    }
}
