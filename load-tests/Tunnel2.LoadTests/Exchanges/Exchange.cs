using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Exchanges;

/// <summary>
/// One request and its checked answer, apart from the connection that carries it: says what to send by its offset, and takes what came.
/// Reused for one exchange after another. Not thread-safe.
/// </summary>
internal abstract class Exchange
{
    /// <summary>Why it failed.</summary>
    public FailureKind Failure { get; private set; }

    /// <summary>What is known beyond that.</summary>
    public string Detail { get; private set; } = "";

    /// <summary>Whether the connection can be used again, once it is done.</summary>
    public bool KeepAlive { get; protected set; }

    /// <summary>Whether a byte of the answer has come.</summary>
    public bool HasBegun { get; private set; }

    /// <summary>Bytes of bodies that were received and checked.</summary>
    public long BodyBytes { get; protected set; }

    /// <summary>Starts over.</summary>
    /// <param name="index">The arrival's number: requests of different numbers have different content where the kind allows.</param>
    /// <param name="target">Which of the hosts it is for.</param>
    public void Begin(long index, int target)
    {
        (Failure, Detail, KeepAlive, HasBegun, BodyBytes) = (FailureKind.None, "", false, false, 0);
        OnBegin(index, target);
    }

    /// <summary>Gives what is to be sent from an offset on.</summary>
    /// <returns>Bytes written; 0: nothing for now.</returns>
    public abstract int Produce(long offset, Span<byte> destination);

    /// <summary>Takes what came.</summary>
    /// <param name="bytes">What no call has consumed yet, the oldest first.</param>
    /// <param name="consumed">Bytes that need not be passed again.</param>
    public ExchangeStatus Receive(ReadOnlySpan<byte> bytes, out int consumed)
    {
        HasBegun |= bytes.Length > 0;
        return OnReceive(bytes, out consumed);
    }

    /// <summary>Takes the orderly end of the connection.</summary>
    public ExchangeStatus ReceiveEnd() => HasBegun ? OnEnd() : Fail(FailureKind.ClosedUnanswered);

    /// <inheritdoc cref="Begin"/>
    protected abstract void OnBegin(long index, int target);

    /// <inheritdoc cref="Receive"/>
    protected abstract ExchangeStatus OnReceive(ReadOnlySpan<byte> bytes, out int consumed);

    /// <summary>The connection ended in order, in the middle of the answer.</summary>
    protected virtual ExchangeStatus OnEnd() => Fail(FailureKind.Truncated);

    /// <summary>Notes why it failed.</summary>
    protected ExchangeStatus Fail(FailureKind kind, string detail = "")
    {
        (Failure, Detail) = (kind, detail);
        return ExchangeStatus.Failed;
    }
}
