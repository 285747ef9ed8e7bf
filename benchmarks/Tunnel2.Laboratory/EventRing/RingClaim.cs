using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Laboratory.EventRing;

/// <summary>A slot that is being written in place. Ends with exactly one <see cref="Commit"/> or <see cref="Abandon"/>.</summary>
internal readonly unsafe ref struct RingClaim
{
    private readonly EventRingProducer _producer;

    internal RingClaim(EventRingProducer producer, byte* slot, long sequence, Span<byte> payload)
    {
        _producer = producer;
        Slot = slot;
        Sequence = sequence;
        Payload = payload;
    }

    /// <summary>The record's number.</summary>
    internal long Sequence { get; }

    /// <summary>The whole payload area, with what an earlier lap left there.</summary>
    internal Span<byte> Payload { get; }

    internal byte* Slot { get; }

    /// <summary>Publishes the first <paramref name="length"/> bytes; false when the claim had stalled and its slot was taken.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The length exceeds the payload area; the claim is still open.</exception>
    internal bool Commit(ushort type, int length)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan((uint)length, (uint)Payload.Length, nameof(length));
        return InPlacePublishing.Commit(_producer, this, type, length);
    }

    /// <summary>Gives the number up; readers see a gap of one and continue at once.</summary>
    internal void Abandon() => InPlacePublishing.Commit(_producer, this, (ushort)RecordType.Abandoned, 0);
}
