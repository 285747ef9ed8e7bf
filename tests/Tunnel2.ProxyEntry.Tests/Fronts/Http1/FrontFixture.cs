using System.IO.Pipelines;
using System.Net;
using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Fronts.Http1;
using Tunnel2.ProxyEntry.Fronts.Http1.Output;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Fronts.Http1;

/// <summary>One connection of the front in memory: the test is the visitor, and says what the forwarder does.</summary>
internal sealed class FrontFixture : IAsyncDisposable
{
    private readonly DuplexPipePair _pipes;
    private readonly CancellationTokenSource _inputEnded = new();
    private readonly CancellationTokenSource _stopping = new();
    private readonly ConnectionSweep _sweep;
    private readonly StringBuilder _received = new();

    /// <summary>Whether ProxyEntry is stopping.</summary>
    public DrainSignal Drain { get; } = new();

    public FrontFixture(
        Func<VisitorExchange, ForwardedRequest, ValueTask> script, PipeScheduler? scheduler = null, params string[] settings)
    {
        Forwarder = new ScriptedForwarder(script);
        var loaded = SettingsFixture.LoadValid(settings);
        Faults = new ContainedFaults(Time);
        _sweep = new ConnectionSweep(loaded, Time, Faults);
        _pipes = new DuplexPipePair(DuplexPipePair.CreateOptions(64 * 1024, scheduler));
        var front = new Http1Front(Forwarder, _sweep, loaded, Drain, NullLogger<Http1Front>.Instance);
        var transport = new VisitorTransport
        {
            Input = _pipes.Right.Input,
            OutputPipe = _pipes.Right.Output,
            Output = new PipeOutput(_pipes.Right.Output, null),
            Id = "c1",
            Remote = new IPEndPoint(IPAddress.Parse("10.1.2.3"), 1),
            Local = new IPEndPoint(IPAddress.Loopback, 12000),
            InputEnded = _inputEnded.Token,
            Stopping = _stopping.Token,
            Abort = () =>
            {
                IsAborted = true;
                var exception = new IOException("aborted");
                _pipes.Left.Output.Complete(exception);
                _pipes.Right.Output.CancelPendingFlush();
                _pipes.Right.Output.Complete(exception);
            },
        };
        Completion = new Http1Connection(front, transport).RunAsync();
    }

    public ManualTimeProvider Time { get; } = new();

    public ContainedFaults Faults { get; }

    public ScriptedForwarder Forwarder { get; }

    public ConnectionSweep Sweep => _sweep;

    public bool IsAborted { get; private set; }

    /// <summary>Ends with the connection; false when the front gave it on.</summary>
    public Task<bool> Completion { get; }

    public PipeReader Output => _pipes.Left.Input;

    public PipeWriter Input => _pipes.Left.Output;

    /// <summary>What the front left unread.</summary>
    public PipeReader FrontInput => _pipes.Right.Input;

    public async Task SendAsync(string text) => await Input.WriteAsync(Encoding.Latin1.GetBytes(text));

    /// <summary>The visitor says no more, but continues reading.</summary>
    public void EndInput()
    {
        Input.Complete();
        _inputEnded.Cancel();
    }

    public void Stop() => _stopping.Cancel();

    /// <summary>Reads until what was received ends with a text.</summary>
    public async Task<string> ReceiveAsync(string end)
    {
        while (!_received.ToString().EndsWith(end, StringComparison.Ordinal))
        {
            if (!await ReceiveMoreAsync())
            {
                Assert.EndsWith(end, _received.ToString(), StringComparison.Ordinal);
            }
        }

        return Take();
    }

    /// <summary>Reads until what was received ends with a text, or there is no more.</summary>
    public async Task<string> ReceiveUpToAsync(string end)
    {
        while (!_received.ToString().EndsWith(end, StringComparison.Ordinal) && await ReceiveMoreAsync())
        {
            // More may come.
        }

        return Take();
    }

    /// <summary>Reads to the end.</summary>
    public async Task<string> ReceiveAllAsync()
    {
        while (await ReceiveMoreAsync())
        {
            // Everything there is.
        }

        return Take();
    }

    private string Take()
    {
        var text = _received.ToString();
        _received.Clear();
        return text;
    }

    private async Task<bool> ReceiveMoreAsync()
    {
        var read = await Output.ReadAsync().AsTask().WaitAsync(AsyncCounter.DefaultTimeout);
        foreach (var piece in read.Buffer)
        {
            _received.Append(Encoding.Latin1.GetString(piece.Span));
        }

        Output.AdvanceTo(read.Buffer.End);
        return !read.IsCompleted;
    }

    public async ValueTask DisposeAsync()
    {
        await Input.CompleteAsync();
        await Output.CompleteAsync();
        await Completion.WaitAsync(AsyncCounter.DefaultTimeout);
        _sweep.Dispose();
        _inputEnded.Dispose();
        _stopping.Dispose();
    }
}
