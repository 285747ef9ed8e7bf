using System.Runtime.InteropServices;
using System.Text;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Telemetry.Aggregation;

/// <summary>
/// Gives each session name a small dense number, in the order of their first appearance: an open-addressed table over the name's bytes. A
/// name keeps its number. Not thread-safe.
/// </summary>
internal sealed class SessionKeyTable
{
    private readonly List<byte[]> _names = [];
    private int[] _slots = new int[64]; // Number + 1; 0 is free.
    private uint[] _hashes = new uint[64];

    /// <summary>Number of names so far.</summary>
    internal int Count => _names.Count;

    /// <summary>The number of <paramref name="name"/>; a new one at its first appearance.</summary>
    internal int GetOrAdd(ReadOnlySpan<byte> name)
    {
        uint hash = Crc32C.Append(Crc32C.Seed, name);
        int[] slots = _slots;
        int mask = slots.Length - 1;
        for (int at = (int)hash & mask; ; at = (at + 1) & mask)
        {
            int number = slots[at] - 1;
            if (number < 0)
            {
                return Add(name, hash);
            }

            if (_hashes[at] == hash && name.SequenceEqual(CollectionsMarshal.AsSpan(_names)[number]))
            {
                return number;
            }
        }
    }

    /// <summary>The name of a number.</summary>
    internal string Name(int number) => Encoding.ASCII.GetString(_names[number]);

    /// <summary>The bytes of the name of a number.</summary>
    internal ReadOnlySpan<byte> NameBytes(int number) => _names[number];

    private int Add(ReadOnlySpan<byte> name, uint hash)
    {
        if ((_names.Count + 1) * 2 > _slots.Length)
        {
            (int[] slots, uint[] hashes) = (_slots, _hashes);
            _slots = new int[slots.Length * 2];
            _hashes = new uint[slots.Length * 2];
            for (int i = 0; i < slots.Length; i++)
            {
                if (slots[i] != 0)
                {
                    Place(slots[i], hashes[i]);
                }
            }
        }

        _names.Add(name.ToArray());
        Place(_names.Count, hash);
        return _names.Count - 1;
    }

    private void Place(int value, uint hash)
    {
        int mask = _slots.Length - 1;
        int at = (int)hash & mask;
        while (_slots[at] != 0)
        {
            at = (at + 1) & mask;
        }

        _slots[at] = value;
        _hashes[at] = hash;
    }
}
