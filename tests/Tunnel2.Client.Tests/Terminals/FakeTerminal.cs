using System.Collections.Concurrent;
using System.Text;
using Tunnel2.Client.Terminals;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Terminals;

/// <summary>A terminal in memory, with keys that the test types.</summary>
internal sealed class FakeTerminal : ITerminal
{
    private readonly BlockingCollection<byte[]> _keys = [];

    public FakeTerminal(int columns = 80, int rows = 24) => Screen = new VirtualTerminal(columns, rows);

    /// <summary>What is seen.</summary>
    public VirtualTerminal Screen { get; }

    /// <summary>How many bytes it still takes; null: any number.</summary>
    public int? Room { get; set; }

    public bool IsRaw { get; private set; }

    public bool IsDisposed { get; private set; }

    public bool IsGone { get; set; }

    /// <summary>How much room there is after a discard; null: as much as before.</summary>
    public int? RoomAfterDiscard { get; set; }

    public bool IsForeground { get; set; } = true;

    /// <summary>Bytes that were written.</summary>
    public long Written { get; private set; }

    public (int Columns, int Rows) Size => (Screen.Columns, Screen.Rows);

    public void Type(string keys) => _keys.Add(Encoding.UTF8.GetBytes(keys));

    public void EnterRaw() => IsRaw = true;

    public void LeaveRaw() => IsRaw = false;

    public int Read(Span<byte> keys, TimeSpan wait)
    {
        if (!_keys.TryTake(out byte[]? typed, wait))
        {
            return 0;
        }

        typed.CopyTo(keys);
        return typed.Length;
    }

    public int Write(ReadOnlySpan<byte> bytes, TimeSpan wait)
    {
        if (IsGone)
        {
            return -1;
        }

        int count = Math.Min(bytes.Length, Room ?? int.MaxValue);
        Room -= count;
        Written += count;
        Screen.Write(bytes[..count]);
        return count;
    }

    public void Discard() => Room = RoomAfterDiscard ?? Room;

    public void Dispose() => IsDisposed = true;
}
