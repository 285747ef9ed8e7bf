namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>The members of a pool that a request was tried at, which did nothing with it.</summary>
internal struct PoolTries
{
    /// <summary>At how many members a request is tried at most.</summary>
    public const int Most = 3;

    private PoolMember? _first;
    private PoolMember? _second;
    private PoolMember? _third;

    /// <summary>How many.</summary>
    public readonly int Count => _first is null ? 0 : _second is null ? 1 : _third is null ? 2 : Most;

    /// <summary>Adds one. Those beyond <see cref="Most"/> are not kept.</summary>
    public void Add(PoolMember member)
    {
        if (Contains(member))
        {
            return;
        }

        if (_first is null)
        {
            _first = member;
        }
        else if (_second is null)
        {
            _second = member;
        }
        else
        {
            _third ??= member;
        }
    }

    /// <summary>Whether it was one of them.</summary>
    public readonly bool Contains(PoolMember member) => member == _first || member == _second || member == _third;
}
