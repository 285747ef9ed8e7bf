using System.Text;
using Tunnel2.ProxyEntry.AccessLog;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.AccessLog;

/// <summary>Keeps what it is given; can be made to fail or to hold the writer up.</summary>
internal sealed class SampleSink : IAccessLogSink
{
    private readonly StringBuilder _text = new();
    private readonly Lock _gate = new();

    /// <summary>Reset: the writer's thread waits in <see cref="Write"/>.</summary>
    public ManualResetEventSlim MayWrite { get; } = new(true);

    public bool Fails { get; set; }

    public Exception Failure { get; set; } = new IOException("No space left on device");

    public AsyncCounter Calls { get; } = new("writes");

    /// <summary>Counts each write whose lines are here.</summary>
    public AsyncCounter Written { get; } = new("writes that are done");

    public string Name => "the sample";

    public int PreferredBytes => 4096;

    public string Text
    {
        get
        {
            lock (_gate)
            {
                return _text.ToString();
            }
        }
    }

    public int Lines => Text.Count(static c => c == '\n');

    public void Write(ReadOnlySpan<byte> lines)
    {
        Calls.Increment();
        MayWrite.Wait();
        if (Fails)
        {
            throw Failure;
        }

        lock (_gate)
        {
            _text.Append(Encoding.ASCII.GetString(lines));
        }

        Written.Increment();
    }

    public void Dispose() => MayWrite.Set();
}
