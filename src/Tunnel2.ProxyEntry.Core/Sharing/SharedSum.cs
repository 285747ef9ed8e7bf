namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>What documents come to. Two sets with one sum are taken for equal.</summary>
/// <param name="Count">How many.</param>
/// <param name="Marks">Their <see cref="SharedDocument.Mark"/>s, in an exclusive or.</param>
internal readonly record struct SharedSum(int Count, long Marks)
{
    /// <summary>The sum with one more.</summary>
    public SharedSum With(long mark) => new(Count + 1, Marks ^ mark);

    /// <summary>The sum without one of those that are in it.</summary>
    public SharedSum Without(long mark) => new(Count - 1, Marks ^ mark);
}
