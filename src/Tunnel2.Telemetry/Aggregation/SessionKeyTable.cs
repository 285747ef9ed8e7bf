using System.Text;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Telemetry.Aggregation;

/// <summary>
/// Gives each session name a small dense number, in the order of first sight: an open-addressed table over the name's bytes. The names
/// that have a number keep it. For one thread, except for names: a thread that was handed a number may ask for its name.
/// </summary>
internal sealed class SessionKeyTable
{
    private byte[][] _names = new byte[32][]; // Replaced by a larger one, never changed where a name is.
    private int _count;
    private int[] _slots = new int[64]; // Number + 1; 0 is free.
    private uint[] _hashes = new uint[64];

    /// <summary>Names seen so far.</summary>
    internal int Count => _count;

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

            if (_hashes[at] == hash && name.SequenceEqual(_names[number]))
            {
                return number;
            }
        }
    }

    /// <summary>The name that has a number.</summary>
    internal string Name(int number) => Encoding.ASCII.GetString(NameBytes(number));

    /// <summary>The bytes of the name that has a number.</summary>
    internal ReadOnlySpan<byte> NameBytes(int number) => Volatile.Read(ref _names)[number];

    private int Add(ReadOnlySpan<byte> name, uint hash)
    {
        if ((_count + 1) * 2 > _slots.Length)
        {
            byte[][] names = new byte[_names.Length * 2][];
            _names.CopyTo(names, 0);
            Volatile.Write(ref _names, names);

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

        _names[_count++] = name.ToArray();
        Place(_count, hash);
        return _count - 1;
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
