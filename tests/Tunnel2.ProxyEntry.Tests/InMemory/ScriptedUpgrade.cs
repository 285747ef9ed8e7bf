using System.IO.Pipelines;
using System.Text;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Tests.InMemory;

/// <summary>A visitor's connection after a 101: raw bytes both ways, as the test says.</summary>
internal sealed class ScriptedUpgrade : UpgradedConnection
{
    private readonly Lock _gate = new();
    private readonly List<byte> _sent = [];
    private readonly Pipe _pipe = new(new PipeOptions(
        readerScheduler: PipeScheduler.Inline, writerScheduler: PipeScheduler.Inline, pauseWriterThreshold: 0,
        useSynchronizationContext: false));

    public ScriptedUpgrade() => Reader = new InterruptedReader(_pipe.Reader);

    public override PipeReader Input => Reader;

    /// <summary>What the visitor says, and how its reading is disturbed.</summary>
    public InterruptedReader Reader { get; }

    /// <summary>Whether its sending direction can end without the other.</summary>
    public bool EndsApart { get; init; } = true;

    /// <summary>Whether its sending direction was ended in order.</summary>
    public bool IsEnded { get; private set; }

    /// <summary>What the visitor does not take for now: a send waits for this.</summary>
    public TaskCompletionSource<bool>? Taking { get; set; }

    /// <summary>Whether the visitor is gone: what is sent is lost.</summary>
    public bool IsGone { get; set; }

    /// <summary>What a send throws.</summary>
    public Exception? Fault { get; set; }

    /// <summary>What the visitor got.</summary>
    public string Got
    {
        get
        {
            lock (_gate)
            {
                return Encoding.Latin1.GetString([.. _sent]);
            }
        }
    }

    public override async ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data)
    {
        if (Fault is { } fault)
        {
            throw fault;
        }

        if (IsGone)
        {
            return false;
        }

        lock (_gate)
        {
            _sent.AddRange(data.Span);
        }

        return Taking is null || await Taking.Task;
    }

    public override ValueTask<bool> EndSendAsync()
    {
        IsEnded = EndsApart;
        return new(EndsApart);
    }

    /// <summary>The visitor says something.</summary>
    public async Task SayAsync(string text, bool end = false)
    {
        await _pipe.Writer.WriteAsync(Encoding.Latin1.GetBytes(text));
        if (end)
        {
            End();
        }
    }

    /// <summary>The visitor's direction ends; with an exception: in no good order.</summary>
    public void End(Exception? exception = null) => _pipe.Writer.Complete(exception);

    /// <summary>A reader whose reads can be interrupted as Kestrel interrupts them.</summary>
    internal sealed class InterruptedReader(PipeReader inner) : PipeReader
    {
        /// <summary>How many reads throw before one goes through.</summary>
        public int Interruptions { get; set; }

        /// <summary>Whether the connection was completed.</summary>
        public bool IsCompleted { get; private set; }

        public override void AdvanceTo(SequencePosition consumed) => inner.AdvanceTo(consumed);

        public override void AdvanceTo(SequencePosition consumed, SequencePosition examined) => inner.AdvanceTo(consumed, examined);

        public override void CancelPendingRead() => inner.CancelPendingRead();

        public override void Complete(Exception? exception = null)
        {
            IsCompleted = true;
            inner.Complete(exception);
        }

        public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
        {
            if (Interruptions > 0)
            {
                Interruptions--;
                return ValueTask.FromException<ReadResult>(new OperationCanceledException());
            }

            return inner.ReadAsync(cancellationToken);
        }

        public override bool TryRead(out ReadResult result) => inner.TryRead(out result);
    }
}
