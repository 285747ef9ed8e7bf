using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Exchanges;

/// <summary>Compares a body with what it must be, as it comes.</summary>
internal interface IBodyCheck
{
    /// <summary>Whether everything that must come has come.</summary>
    bool IsComplete { get; }

    /// <summary>Starts over.</summary>
    /// <param name="index">The arrival's number.</param>
    void Begin(long index);

    /// <summary>Takes the next bytes.</summary>
    /// <returns>None, or <see cref="FailureKind.WrongBody"/>.</returns>
    FailureKind Take(ReadOnlySpan<byte> bytes);
}
