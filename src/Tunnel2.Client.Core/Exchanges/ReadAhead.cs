namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// Places for bodies that are read ahead of their visitor's credit. Such a body sends as soon as credit comes, where another one has to
/// read first; but its buffer is held for as long as its visitor takes nothing. So the first few may, and the others wait with
/// nothing held. Thread-safe.
/// </summary>
/// <param name="places">How many bodies; each holds one buffer of at most 128 KiB.</param>
internal sealed class ReadAhead(int places = ReadAhead.DefaultPlaces)
{
    /// <summary>4 MiB at most.</summary>
    public const int DefaultPlaces = 32;

    private int _taken;

    private bool TryTake()
    {
        if (Volatile.Read(ref _taken) >= places)
        {
            return false;
        }

        if (Interlocked.Increment(ref _taken) <= places)
        {
            return true;
        }

        Interlocked.Decrement(ref _taken);
        return false;
    }

    /// <summary>What one exchange has of them; for its response's pump alone.</summary>
    internal sealed class Place(ReadAhead places)
    {
        /// <summary>Whether the body reads ahead.</summary>
        public bool IsTaken { get; private set; }

        /// <summary>Takes a place, if one is free and none is taken.</summary>
        public void TryTake() => IsTaken = IsTaken || places.TryTake();

        /// <summary>The body is over: gives back what was taken.</summary>
        public void Release()
        {
            if (IsTaken)
            {
                IsTaken = false;
                Interlocked.Decrement(ref places._taken);
            }
        }
    }
}
