using System.Net;

namespace Tunnel2.LoopsStress;

/// <summary>A visitor who comes again and again, in a way of its own.</summary>
internal abstract class Visitor(string kind, int seed, StressTunnel tunnel, Tally tally)
{
    /// <summary>No visitor waits longer than this for anything: what comes later hangs.</summary>
    protected static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    public string Kind => kind;

    protected Random Random { get; } = new(seed);

    protected StressTunnel Tunnel => tunnel;

    protected Tally Tally => tally;

    protected IPEndPoint Http => tunnel.Http;

    protected IPEndPoint Https => tunnel.Https;

    /// <summary>Comes until it is asked to stop.</summary>
    public async Task RunAsync(CancellationToken stop)
    {
        while (!stop.IsCancellationRequested)
        {
            try
            {
                await VisitAsync(stop);
            }
            catch (TimeoutException)
            {
                Tally.Wrong($"{Kind}: no answer within {Patience.TotalSeconds} s");
            }
            catch (Exception exception)
            {
                Tally.Failed(Kind, exception.GetType().Name);
            }
        }
    }

    /// <summary>Comes once: one connection.</summary>
    protected abstract Task VisitAsync(CancellationToken stop);

    /// <summary>Compares an answer that is whole.</summary>
    protected void Check(Question question, int status, string? error, ReadOnlySpan<byte> body)
    {
        if (status == 200 && body.SequenceEqual(question.Answer()))
        {
            Tally.Right(Kind);
        }
        else if (status is 502 or 503 or 504 && !string.IsNullOrEmpty(error))
        {
            Tally.Failed(Kind, $"{status} {error}");
        }
        else
        {
            Tally.Wrong($"{Kind}: {question.Host}{question.Target} got {status} {error} with {body.Length} other bytes");
        }
    }
}
