using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;
using Tunnel2.TestUtilities;

namespace Tunnel2.Telemetry.Tests.EventRing;

public sealed class RingFileTests
{
    private static EventRingOpenError Open(string path) => SharedEventRing.TryOpen(path, new EventRingOptions(), writable: true, out _);

    private static void Patch(RingFixture f, int offset, int value, bool fixChecksum)
    {
        byte[] file = File.ReadAllBytes(f.Path);
        BinaryPrimitives.WriteInt32LittleEndian(file.AsSpan(offset), value);
        if (fixChecksum)
        {
            BinaryPrimitives.WriteUInt32LittleEndian(file.AsSpan(48), Crc32C.Compute(file.AsSpan(0, 48)));
        }

        File.WriteAllBytes(f.Copy, file);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void UseAndForget(RingFixture f)
    {
        for (int i = 0; i < 10; i++)
        {
            using var ring = SharedEventRing.Create(f.Copy, new EventRingOptions { Capacity = 64 });
            EventRingReader reader = ring.CreateReader(new EventRingReaderOptions());
            Assert.Equal(PublishStatus.Published, ring.CreateProducer().TryPublish(1, "x"u8));
            Assert.Equal(1, reader.Lag);
        }

        Assert.True(IsMapped(f.Copy));
    }

    private static bool IsMapped(string path) =>
        File.ReadLines("/proc/self/maps").Any(line => line.Contains(path, StringComparison.Ordinal));

    [Fact]
    public async Task A_ring_without_users_is_unmapped()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "/proc shows the mappings.");
        using var f = new RingFixture();
        UseAndForget(f);
        await WaitSignal.UntilAsync(
            () =>
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
                return !IsMapped(f.Copy);
            },
            "no predecessor is mapped any more");
    }

    [Fact]
    public void A_missing_file_is_refused()
    {
        Assert.Equal(EventRingOpenError.NotFound, Open("/nonexistent/ring"));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(4095)]
    public void A_file_shorter_than_its_header_is_refused(int length)
    {
        using var f = new RingFixture();
        File.WriteAllBytes(f.Copy, File.ReadAllBytes(f.Path)[..length]);
        Assert.Equal(EventRingOpenError.TooShort, Open(f.Copy));
    }

    [Fact]
    public void A_file_of_something_else_is_refused()
    {
        using var f = new RingFixture();
        Patch(f, 0, 0x464C457F, fixChecksum: true);
        Assert.Equal(EventRingOpenError.BadMagic, Open(f.Copy));
    }

    [Fact]
    public void Another_version_is_refused()
    {
        using var f = new RingFixture();
        Patch(f, 8, 2, fixChecksum: true);
        Assert.Equal(EventRingOpenError.UnsupportedVersion, Open(f.Copy));
    }

    [Fact]
    public void A_changed_byte_anywhere_in_the_fixed_header_is_refused()
    {
        using var f = new RingFixture();
        byte[] intact = File.ReadAllBytes(f.Path);
        for (int i = 12; i < 52; i++)
        {
            byte[] changed = (byte[])intact.Clone();
            changed[i] ^= 0x40;
            File.WriteAllBytes(f.Copy, changed);
            Assert.Equal(EventRingOpenError.CorruptHeader, Open(f.Copy));
        }
    }

    [Theory]
    [InlineData(12, 100)] // slot size
    [InlineData(12, 1 << 16)]
    [InlineData(16, 15)] // capacity
    [InlineData(16, int.MinValue)]
    [InlineData(20, 0)] // consumers
    [InlineData(20, 1 << 20)]
    [InlineData(24, 7)] // policy
    [InlineData(28, 2)] // flags
    public void A_geometry_out_of_range_is_refused(int offset, int value)
    {
        using var f = new RingFixture();
        Patch(f, offset, value, fixChecksum: true);
        Assert.Equal(EventRingOpenError.BadGeometry, Open(f.Copy));
    }

    [Fact]
    public void A_truncated_file_is_refused()
    {
        using var f = new RingFixture();
        byte[] file = File.ReadAllBytes(f.Path);
        File.WriteAllBytes(f.Copy, file[..^1]);
        Assert.Equal(EventRingOpenError.Truncated, Open(f.Copy));
    }

    [Fact]
    public void A_directory_is_refused()
    {
        using var f = new RingFixture();
        Assert.Equal(EventRingOpenError.AccessDenied, Open(f.Directory));
    }

    [Fact]
    public void An_invalid_geometry_is_not_created()
    {
        Assert.Throws<ArgumentException>(() => new RingFixture(new EventRingOptions { Capacity = 100 }));
    }

    [Fact]
    public void A_refused_file_is_replaced_by_a_new_ring_and_the_reason_is_reported()
    {
        using var f = new RingFixture();
        Patch(f, 8, 2, fixChecksum: true);
        using SharedEventRing ring = SharedEventRing.OpenOrCreate(f.Copy, f.Options, out EventRingOpenError refused);
        Assert.Equal(EventRingOpenError.UnsupportedVersion, refused);
        Assert.NotEqual(f.Ring.Header.RingId, ring.Header.RingId);
    }

    [Fact]
    public void An_owner_that_comes_back_continues_with_the_sequence_numbers()
    {
        using var f = new RingFixture();
        RingFixture.Publish(f.Ring.CreateProducer(), 0, 5);
        using SharedEventRing again = SharedEventRing.OpenOrCreate(f.Path, f.Options, out EventRingOpenError refused);
        EventRingProducer producer = again.CreateProducer();
        Assert.Equal(EventRingOpenError.None, refused);
        Assert.Equal(2, producer.Epoch);
        using EventRingReader reader = again.CreateReader(RingFixture.Oldest);
        RingFixture.Publish(producer, 5, 5);
        f.Expect(reader, 0, 10);
    }

    [Fact]
    public void Readers_of_a_replaced_ring_drain_it_and_learn_it()
    {
        using var f = new RingFixture();
        RingFixture.Publish(f.Ring.CreateProducer(), 0, 1);
        using EventRingReader reader = f.Ring.CreateReader(RingFixture.Oldest);
        using SharedEventRing next = SharedEventRing.Create(f.Path, f.Options);
        f.Expect(reader, 0, 1);
        Assert.Equal(RingReadStatus.Closed, f.Poll(reader, out _, out _));
    }

    [Fact]
    public void A_ring_opened_for_reading_shows_records_and_takes_none()
    {
        using var f = new RingFixture();
        RingFixture.Publish(f.Ring.CreateProducer(), 0, 3);
        Assert.Equal(EventRingOpenError.None, SharedEventRing.TryOpen(f.Path, f.Options, writable: false, out SharedEventRing? ring));
        using EventRingReader reader = ring!.CreateReader(RingFixture.Oldest);
        f.Expect(reader, 0, 3);
        Assert.True(reader.Wait(TimeSpan.Zero) is false);
        Assert.Throws<InvalidOperationException>(() => ring.CreateProducer());
        ring.Dispose();
    }

    [Fact]
    public void The_slot_layout_has_these_golden_bytes()
    {
        using var f = new RingFixture();
        f.Ring.CreateProducer().TryPublish(1, "tunnel2ring"u8);
        byte[] slot = File.ReadAllBytes(f.Path).AsSpan(8192, 32).ToArray();
        byte[] covered = new byte[16 + 16];
        covered[0] = 0; // sequence 0
        covered[8] = 11;
        covered[10] = 1;
        "tunnel2ring"u8.CopyTo(covered.AsSpan(16));
        uint crc = Crc32C.Compute(covered);
        Assert.Equal(
            "01000000000000000B000100" + Convert.ToHexString(BitConverter.GetBytes(crc)) + "74756E6E656C3272696E670000000000",
            Convert.ToHexString(slot));
        Assert.Equal("40FBE075", Convert.ToHexString(BitConverter.GetBytes(crc)));
    }
}
