using System.Text;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Live;

/// <summary>An output that a test waits on, and can hold up. Thread-safe.</summary>
internal sealed class WatchedWriter : TextWriter
{
    private readonly Lock _lock = new();
    private readonly StringBuilder _text = new();
    private readonly List<(Func<string, bool> Condition, TaskCompletionSource Done)> _waiters = [];
    private readonly ManualResetEventSlim _open = new(true);

    public WatchedWriter() => NewLine = "\n";

    public override Encoding Encoding => Encoding.UTF8;

    internal string Text
    {
        get
        {
            lock (_lock)
            {
                return _text.ToString();
            }
        }
    }

    internal string[] Lines => Text.Split('\n', StringSplitOptions.RemoveEmptyEntries);

    /// <summary>Set when a caller waits to write.</summary>
    internal WaitSignal Held { get; } = new("a write is held up");

    /// <summary>A caller that writes from now on waits.</summary>
    internal void Close(bool closed)
    {
        if (closed)
        {
            _open.Reset();
        }
        else
        {
            _open.Set();
        }
    }

    internal Task WhenAsync(Func<string, bool> condition)
    {
        lock (_lock)
        {
            var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            _waiters.Add((condition, done));
            SignalUnsynchronized();
            return done.Task.WaitAsync(AsyncCounter.DefaultTimeout);
        }
    }

    public override void Write(char value) => Write(value.ToString());

    public override void Write(string? value)
    {
        if (!_open.IsSet)
        {
            Held.Set();
        }

        _open.Wait();
        lock (_lock)
        {
            _text.Append(value);
            SignalUnsynchronized();
        }
    }

    public override void Write(char[] buffer, int index, int count) => Write(new string(buffer, index, count));

    private void SignalUnsynchronized()
    {
        if (_waiters.Count == 0)
        {
            return;
        }

        string text = _text.ToString();
        foreach ((Func<string, bool> condition, TaskCompletionSource done) in _waiters.ToArray())
        {
            if (condition(text))
            {
                done.TrySetResult();
            }
        }

        _waiters.RemoveAll(static waiter => waiter.Done.Task.IsCompleted);
    }

    protected override void Dispose(bool disposing)
    {
        _open.Dispose();
        base.Dispose(disposing);
    }
}
