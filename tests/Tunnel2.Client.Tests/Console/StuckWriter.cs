namespace Tunnel2.Client.Tests.Console;

/// <summary>An output whose reader does not read until the test lets it.</summary>
internal sealed class StuckWriter : StringWriter
{
    private readonly ManualResetEventSlim _gate = new();
    private readonly TaskCompletionSource _reached = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public Task Reached => _reached.Task;

    public void Open() => _gate.Set();

    public override Task WriteLineAsync(ReadOnlyMemory<char> buffer, CancellationToken cancellationToken = default)
    {
        _reached.TrySetResult();
        _gate.Wait(TimeSpan.FromSeconds(30), CancellationToken.None);
        WriteLine(buffer.Span);
        return Task.CompletedTask;
    }

    protected override void Dispose(bool disposing)
    {
        _gate.Dispose();
        base.Dispose(disposing);
    }
}
