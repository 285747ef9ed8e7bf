using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Tunnel2.Telemetry.MessageStore;

/// <summary>
/// A cheap string hash with which keys that differ in a counter at their end stay close together, and so in the same cache lines.
/// </summary>
/// <remarks>
/// An attacker who chooses the keys can make them collide, so a table that uses it must notice long chains (see
/// <see cref="MessageTable{T}"/>).
/// </remarks>
internal static class KeyHash
{
    /// <summary>Hashes the characters of a key; the same key always has the same hash.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int Of(string key)
    {
        uint even = (uint)key.Length;
        uint odd = even;
        ReadOnlySpan<char> rest = key;
        while (rest.Length >= 4)
        {
            ReadOnlySpan<uint> pairs = MemoryMarshal.Cast<char, uint>(rest[..4]);
            even = (BitOperations.RotateLeft(even, 5) + even) ^ pairs[0];
            odd = (BitOperations.RotateLeft(odd, 5) + odd) ^ pairs[1];
            rest = rest[4..];
        }

        foreach (char c in rest)
        {
            even = (BitOperations.RotateLeft(even, 5) + even) ^ c;
        }

        uint hash = even + (odd * 1_566_083_941);
        return (int)(hash ^ (hash >> 15));
    }
}
