using Tunnel2.Laboratory.EventRing;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Tests.EventRing;

namespace Tunnel2.Laboratory.Tests.EventRing;

public sealed class InPlacePublishingTests
{
    [Fact]
    public void A_record_encoded_in_place_is_read_like_any_other()
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        for (int lap = 0; lap < 40; lap++)
        {
            Assert.Equal(PublishStatus.Published, producer.TryClaim(out RingClaim claim));
            claim.Payload.Fill((byte)(lap + 1)); // Leaves bytes behind the record's end.
            Assert.True(claim.Commit(3, 11));
            Assert.Equal(RingReadStatus.Record, reader.TryRead(f.Buffer, out RingEntry entry, out _));
            Assert.Equal((ushort)11, entry.Length);
            Assert.Equal(Enumerable.Repeat((byte)(lap + 1), 11), f.Buffer[..11]);
        }
    }

    [Fact]
    public void A_claim_that_is_given_up_is_a_gap_of_one_at_once()
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        producer.TryClaim(out RingClaim claim);
        claim.Abandon();
        RingFixture.Publish(producer, 1, 1);
        f.ExpectGap(reader, 0, 1, RingGapReason.Abandoned);
        f.Expect(reader, 1, 1);
    }
}
