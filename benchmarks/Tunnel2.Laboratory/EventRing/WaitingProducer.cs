using System.Runtime.InteropServices;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Laboratory.EventRing;

/// <summary>
/// Publishes records under <see cref="EventRingPolicy.WaitForSlowest"/>: never takes a slot that a live <see cref="RegisteredReader"/>
/// has yet to read. ProxyEntry must not wait for its readers, so that no ring of the product has this policy. Safe on any thread.
/// </summary>
internal sealed class WaitingProducer
{
    private readonly SharedEventRing _ring;
    private readonly EventRingProducer _producer;
    private readonly SlowestConsumerGate _gate;

    /// <param name="ring">A ring of this policy.</param>
    /// <param name="onBlocked">Asked about once a millisecond while a publisher waits, with the time waited; false gives up.</param>
    /// <param name="staleAfter">See <see cref="DeadConsumers"/>; default: <see cref="DeadConsumers.StaleAfter"/>.</param>
    internal WaitingProducer(SharedEventRing ring, Func<TimeSpan, bool>? onBlocked = null, TimeSpan? staleAfter = null)
    {
        if (ring.Header.Policy != EventRingPolicy.WaitForSlowest)
        {
            throw new ArgumentException("The ring's policy is another.", nameof(ring));
        }

        _ring = ring;
        _producer = ring.CreateProducer();
        _gate = new SlowestConsumerGate(ring, onBlocked, staleAfter ?? DeadConsumers.StaleAfter);
    }

    /// <summary>Records of this producer that reached no reader.</summary>
    internal long Dropped => _producer.Dropped;

    /// <summary>Publishes a copy of <paramref name="payload"/>, and never waits.</summary>
    internal WaitingStatus TryPublish(ushort type, ReadOnlySpan<byte> payload)
    {
        if (payload.Length > _ring.MaxPayload || type == 0)
        {
            return WaitingStatus.Invalid;
        }

        for (int attempt = 0; attempt < EventRingProducer.MaxClaims; attempt++)
        {
            if (!_gate.TryClaim(1, out long sequence, out _))
            {
                return WaitingStatus.Full;
            }

            if (_producer.TryFill(sequence, type, ref MemoryMarshal.GetReference(payload), payload.Length))
            {
                _ring.SignalCommitted();
                return WaitingStatus.Published;
            }
        }

        _producer.CountDropped();
        return WaitingStatus.Dropped;
    }

    /// <summary>
    /// As <see cref="TryPublish"/>, but waits for room: spins, relaxes, yields, then asks the callback about once a millisecond whether
    /// to continue.
    /// </summary>
    /// <exception cref="OperationCanceledException">Cancelled while there was no room.</exception>
    internal WaitingStatus Publish(ushort type, ReadOnlySpan<byte> payload, CancellationToken cancellationToken = default)
    {
        WaitingStatus status = TryPublish(type, payload);
        while (status == WaitingStatus.Full)
        {
            if (!_gate.WaitForRoom(cancellationToken))
            {
                return WaitingStatus.Full;
            }

            status = TryPublish(type, payload);
        }

        return status;
    }

    /// <summary>
    /// Publishes the records of <paramref name="batch"/> in order, from its entry <paramref name="start"/> on, claiming the numbers there
    /// are at once; never waits.
    /// </summary>
    /// <returns>How many entries were dealt with; fewer than the rest of the batch when the ring is full.</returns>
    internal int TryPublishBatch(RingBatch batch, int start = 0)
    {
        ReadOnlySpan<RingEntry> entries = batch.Entries[start..];
        int wanted = Math.Min(entries.Length, _ring.Capacity / 2);
        if (wanted == 0 || !_gate.TryClaim(wanted, out long first, out wanted))
        {
            return 0;
        }

        for (int done = 0; done < wanted; done += BatchPublishing.RunLength)
        {
            ReadOnlySpan<RingEntry> run = entries.Slice(done, Math.Min(BatchPublishing.RunLength, wanted - done));
            uint published = BatchPublishing.FillRun(_producer, batch, run, first + done);
            if (published != BatchPublishing.All(run))
            {
                PublishRest(batch, run, published);
            }
        }

        _ring.SignalCommitted();
        return wanted;
    }

    /// <summary>Publishes the whole batch, waiting for room.</summary>
    /// <returns>How many entries were dealt with; fewer than the batch only when the callback said stop.</returns>
    internal int PublishBatch(RingBatch batch, CancellationToken cancellationToken = default)
    {
        int done = 0;
        while (done < batch.Count)
        {
            int published = TryPublishBatch(batch, done);
            done += published;
            if (published == 0 && !_gate.WaitForRoom(cancellationToken))
            {
                break;
            }
        }

        return done;
    }

    /// <summary>As <see cref="InPlacePublishing.TryClaim"/>.</summary>
    internal WaitingStatus TryClaim(out RingClaim claim)
    {
        for (int attempt = 0; attempt < EventRingProducer.MaxClaims; attempt++)
        {
            if (!_gate.TryClaim(1, out long sequence, out _))
            {
                claim = default;
                return WaitingStatus.Full;
            }

            if (InPlacePublishing.TryOwn(_producer, sequence, out claim))
            {
                return WaitingStatus.Published;
            }
        }

        _producer.CountDropped();
        claim = default;
        return WaitingStatus.Dropped;
    }

    /// <summary>Publishes anew what a run's numbers did not carry, and counts what none can or what there is no room for.</summary>
    private void PublishRest(RingBatch batch, ReadOnlySpan<RingEntry> entries, uint published)
    {
        for (int i = 0; i < entries.Length; i++)
        {
            bool isLost = !BatchPublishing.IsValid(_ring, entries[i])
                || ((published >> i & 1) == 0 && TryPublish(entries[i].Type, batch.Payload(entries[i])) == WaitingStatus.Full);
            if (isLost)
            {
                _producer.CountDropped();
            }
        }
    }
}
