using System.Numerics;

namespace Tunnel2.Telemetry.Aggregation;

/// <summary>The cells of one window by session number, and the list of sessions that have a cell.</summary>
internal sealed class WindowSlot
{
    internal WindowCell?[] Cells { get; private set; } = new WindowCell?[16];

    internal List<int> Keys { get; } = [];

    internal void Add(int key, WindowCell cell)
    {
        if (key >= Cells.Length)
        {
            WindowCell?[] larger = new WindowCell?[(int)BitOperations.RoundUpToPowerOf2((uint)key + 1)];
            Cells.CopyTo(larger, 0);
            Cells = larger;
        }

        Cells[key] = cell;
        Keys.Add(key);
    }
}
