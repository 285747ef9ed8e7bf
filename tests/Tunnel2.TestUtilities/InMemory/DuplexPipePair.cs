using System.IO.Pipelines;

namespace Tunnel2.TestUtilities;

/// <summary>Two in-memory ends of one connection: what is written to one end's output is read from the other end's input.</summary>
public sealed class DuplexPipePair
{
    private readonly Pipe _leftToRight;
    private readonly Pipe _rightToLeft;

    /// <param name="leftToRight">Thresholds and schedulers of that direction; default: those of <see cref="PipeOptions.Default"/>.</param>
    /// <param name="rightToLeft">The same for the other direction; default: as <paramref name="leftToRight"/>.</param>
    public DuplexPipePair(PipeOptions? leftToRight = null, PipeOptions? rightToLeft = null)
    {
        _leftToRight = new Pipe(leftToRight ?? PipeOptions.Default);
        _rightToLeft = new Pipe(rightToLeft ?? leftToRight ?? PipeOptions.Default);
        Left = new End(_rightToLeft.Reader, _leftToRight.Writer);
        Right = new End(_leftToRight.Reader, _rightToLeft.Writer);
    }

    /// <summary>One end.</summary>
    public IDuplexPipe Left { get; }

    /// <summary>The other end.</summary>
    public IDuplexPipe Right { get; }

    /// <summary>
    /// Options for a direction that holds at most about <paramref name="pauseThreshold"/> bytes before a flush waits (0: never waits).
    /// </summary>
    /// <param name="pauseThreshold">In bytes.</param>
    /// <param name="scheduler">Where both sides continue; default: the thread pool.</param>
    public static PipeOptions CreateOptions(long pauseThreshold, PipeScheduler? scheduler = null) =>
        new(
            readerScheduler: scheduler ?? PipeScheduler.ThreadPool, writerScheduler: scheduler ?? PipeScheduler.ThreadPool,
            pauseWriterThreshold: pauseThreshold, resumeWriterThreshold: pauseThreshold / 2, useSynchronizationContext: false);

    /// <summary>Ends both directions for both sides: readers and flushes that wait see <paramref name="exception"/>, or the end.</summary>
    public void Abort(Exception? exception = null)
    {
        _leftToRight.Writer.Complete(exception);
        _rightToLeft.Writer.Complete(exception);
        _leftToRight.Reader.Complete(exception);
        _rightToLeft.Reader.Complete(exception);
    }

    private sealed class End(PipeReader input, PipeWriter output) : IDuplexPipe
    {
        public PipeReader Input { get; } = input;

        public PipeWriter Output { get; } = output;
    }
}
