using System.IO.Pipelines;
using System.Runtime.CompilerServices;

namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>Awaited once: continues where the scheduler says, after what it has before it.</summary>
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
