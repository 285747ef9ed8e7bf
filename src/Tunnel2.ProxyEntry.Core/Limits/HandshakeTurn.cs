using System.Runtime.CompilerServices;

namespace Tunnel2.ProxyEntry.Limits;

/// <summary>A turn that is waited for. It always comes, and never at once.</summary>
/// <param name="turns">The turns.</param>
/// <param name="address">Whose turn it is.</param>
internal readonly struct HandshakeTurn(HandshakeTurns turns, AddressKey address) : ICriticalNotifyCompletion
{
    /// <summary>False: a turn begins with its continuation.</summary>
    public bool IsCompleted => false;

    /// <summary>What <c>await</c> asks for.</summary>
    public HandshakeTurn GetAwaiter() => this;

    /// <summary>There is no result.</summary>
    public void GetResult()
    {
    }

    /// <inheritdoc/>
    public void OnCompleted(Action continuation) => turns.Add(address, continuation);

    /// <inheritdoc/>
    public void UnsafeOnCompleted(Action continuation) => turns.Add(address, continuation);
}
