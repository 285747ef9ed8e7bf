using System.Collections.Concurrent;
using Tunnel2.FunctionalTests.Harness;

[assembly: AssemblyFixture(typeof(UnobservedExceptions))]

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>Fails the run when a task failed and no code looked: such a failure is lost in a server.</summary>
public sealed class UnobservedExceptions : IDisposable
{
    private static readonly ConcurrentQueue<Exception> _seen = new();

    public UnobservedExceptions() => TaskScheduler.UnobservedTaskException += OnUnobserved;

    /// <summary>Throws what has been seen since the last call.</summary>
    public static void AssertNone()
    {
        var seen = new List<Exception>();
        while (_seen.TryDequeue(out var exception))
        {
            seen.Add(exception);
        }

        Assert.Empty(seen);
    }

    public void Dispose()
    {
        // Only a collection finds the tasks that no code asks any more.
        GC.Collect();
        GC.WaitForPendingFinalizers();
        TaskScheduler.UnobservedTaskException -= OnUnobserved;
        AssertNone();
    }

    private static void OnUnobserved(object? sender, UnobservedTaskExceptionEventArgs arguments)
    {
        // The tests' own tools may cut what they like.
        if (!arguments.Exception.ToString().Contains("Tunnel2.TestUtilities", StringComparison.Ordinal))
        {
            _seen.Enqueue(arguments.Exception);
        }
    }
}
