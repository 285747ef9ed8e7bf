using System.IO.Pipelines;
using System.Runtime.CompilerServices;

namespace Tunnel2.Multiplexing.Threading;

/// <summary>Awaited once: continues on the scheduler, after the work that waits there already.</summary>
internal readonly struct SchedulerYield(PipeScheduler scheduler) : ICriticalNotifyCompletion
{
    public bool IsCompleted => false;

    public SchedulerYield GetAwaiter() => this;

    public void GetResult()
    {
    }

    public void OnCompleted(Action continuation) => UnsafeOnCompleted(continuation);

    public void UnsafeOnCompleted(Action continuation) => scheduler.Schedule(static action => ((Action)action!)(), continuation);
}
