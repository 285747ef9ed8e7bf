using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Telemetry.Tests.EventRing;

public sealed class RoundTripTests
{
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Payloads_of_every_length_come_back_unchanged(bool checksum)
    {
        using var f = new RingFixture(new EventRingOptions { Capacity = 16, Checksum = checksum });
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        byte[] payload = new byte[f.Ring.MaxPayload];
        new Random(1).NextBytes(payload);
        for (int length = 0; length <= payload.Length; length++)
        {
            Assert.Equal(PublishStatus.Published, producer.TryPublish((ushort)(length + 1), payload.AsSpan(0, length)));
            Assert.Equal(RingReadStatus.Record, reader.TryRead(f.Buffer, out RingEntry entry, out _));
            Assert.Equal(length + 1, entry.Type);
            Assert.Equal(length, entry.Sequence);
            Assert.Equal(payload.AsSpan(0, length), f.Buffer.AsSpan(0, entry.Length));
        }
    }

    [Fact]
    public void A_payload_that_does_not_fit_is_refused_and_claims_nothing()
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        Assert.Equal(PublishStatus.Invalid, producer.TryPublish(1, new byte[f.Ring.MaxPayload + 1]));
        Assert.Equal(PublishStatus.Invalid, producer.TryPublish(0, "x"u8));
        Assert.Equal(0, f.Ring.Head);
    }

    [Fact]
    public async Task A_sleeping_reader_is_woken_by_the_first_commit()
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions { SpinBeforeSleep = 0 });
        for (int round = 0; round < 50; round++)
        {
            Task<bool> waiting = Task.Factory.StartNew(
                () => reader.Wait(TimeSpan.FromSeconds(30)),
                CancellationToken.None,
                TaskCreationOptions.LongRunning,
                TaskScheduler.Default);
            if (round % 2 == 0)
            {
                SpinWait.SpinUntil(() => Volatile.Read(ref f.Ring.WaitFlag) != 0, TimeSpan.FromSeconds(10));
            }

            RingFixture.Publish(producer, round, 1);
            Assert.True(await waiting.WaitAsync(TimeSpan.FromSeconds(10)));
            f.Expect(reader, round, 1);
        }
    }

    [Fact]
    public void Waiting_ends_with_the_timeout_or_the_token()
    {
        using var f = new RingFixture();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        Assert.False(reader.Wait(TimeSpan.FromMilliseconds(1)));
        Assert.False(reader.Wait(TimeSpan.FromSeconds(60), new CancellationToken(canceled: true)));
    }
}
