using System.Runtime.InteropServices;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Native;

namespace Tunnel2.TestUtilities;

/// <summary>Ways in which what an event loop waits on fails.</summary>
internal static class LoopFault
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(60);

    /// <summary>Takes away what a loop waits on: it is another descriptor now, for which no thread can wait. The thread fails with its next
    /// wait.</summary>
    public static void TakeAway(EpollLoop loop)
    {
        var other = Libc.EventDescriptor(0, Libc.EpollCloseOnExec);
        if (other < 0 || Duplicate(other, loop.Descriptor) < 0)
        {
            throw Errno.ToException(Errno.Last);
        }

        _ = Libc.Close(other);

        // It may wait on what was there before.
        loop.AskForSign();
    }

    /// <summary>Makes one wait of a loop fail: the next one finds everything in place again.</summary>
    /// <returns>Completes when that is done.</returns>
    public static Task FailOneWaitAsync(EpollLoop loop)
    {
        var restored = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        loop.Schedule(
            _ =>
            {
                var kept = DescriptorOf.Duplicate(loop.Descriptor);
                TakeAway(loop);

                // The loop waits before it runs this.
                loop.Schedule(
                    _ =>
                    {
                        var place = Duplicate(kept, loop.Descriptor);
                        _ = Libc.Close(kept);
                        restored.SetResult();
                        ArgumentOutOfRangeException.ThrowIfNegative(place);
                    },
                    null);
            },
            null);
        return restored.Task.WaitAsync(_limit);
    }

    [DllImport("libc", EntryPoint = "dup2", SetLastError = true)]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int Duplicate(int descriptor, int place);
}
