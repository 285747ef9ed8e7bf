using System.Collections.Concurrent;
using Tunnel2.FunctionalTests.Harness;

[assembly: AssemblyFixture(typeof(UnobservedExceptions))]

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>Fails the run when a task failed and nobody looked: such a failure is lost in a server.</summary>
public sealed class UnobservedExceptions : IDisposable
{
    private static readonly ConcurrentQueue<Exception> _seen = new();

    public UnobservedExceptions() => TaskScheduler.UnobservedTaskException += OnUnobserved;

    public static void AssertNone() => Assert.Empty(_seen);

    public void Dispose()
    {
        // Only a collection finds the tasks that nobody asks any more.
        GC.Collect();
        GC.WaitForPendingFinalizers();
        TaskScheduler.UnobservedTaskException -= OnUnobserved;
        AssertNone();
    }

    private static void OnUnobserved(object? sender, UnobservedTaskExceptionEventArgs arguments) => _seen.Enqueue(arguments.Exception);
}
