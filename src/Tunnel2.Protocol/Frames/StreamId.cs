namespace Tunnel2.Protocol.Frames;

/// <summary>
/// A stream's id: a slot (high 16 bits) and a generation (low 16 bits). The slot is an index into the uplink's table. The generation
/// (1…65535, then 1 again) distinguishes frames of the slot's current stream from those of earlier ones. Id 0 is the uplink itself.
/// </summary>
/// <param name="Value">The 32 bits on the wire.</param>
public readonly record struct StreamId(uint Value)
{
    /// <summary>The uplink itself: control frames that belong to no stream.</summary>
    public static readonly StreamId Uplink;

    /// <summary>Makes an id from its parts.</summary>
    /// <param name="slot">0…65535.</param>
    /// <param name="generation">1…65535.</param>
    public StreamId(int slot, ushort generation)
        : this(((uint)slot << 16) | generation)
    {
    }

    /// <summary>The index into the uplink's table of streams.</summary>
    public int Slot => (int)(Value >> 16);

    /// <summary>The number of the slot's use; 0 only in <see cref="Uplink"/> and in malformed ids.</summary>
    public ushort Generation => (ushort)Value;

    /// <summary>Whether this is the uplink itself.</summary>
    public bool IsUplink => Value == 0;

    /// <summary>The next generation; 65535 is followed by 1.</summary>
    /// <param name="generation">The current generation, 0 for a slot that was never used.</param>
    public static ushort NextGeneration(ushort generation) => generation == ushort.MaxValue ? (ushort)1 : (ushort)(generation + 1);

    /// <summary>
    /// Whether <paramref name="candidate"/> is before <paramref name="current"/> on the circle of generations (serial-number arithmetic as
    /// in RFC 1982): the half of the circle before the current one counts as earlier, the other half as never opened.
    /// </summary>
    /// <param name="candidate">The generation of a frame that arrived.</param>
    /// <param name="current">The slot's current generation.</param>
    public static bool IsEarlierGeneration(ushort candidate, ushort current) =>
        candidate != current && (ushort)(current - candidate) < 0x8000;

    /// <inheritdoc/>
    public override string ToString() => IsUplink ? "uplink" : $"{Slot}/{Generation}";
}
