using System.Diagnostics.CodeAnalysis;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Telemetry.Tests.EventRing;

public sealed class OwnedRingTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("tunnel2-owned-").FullName;

    private string File => Path.Combine(_directory, "e1.ring");

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public void Two_owners_never_share_a_file()
    {
        var options = new EventRingOptions { Capacity = 64 };
        using OwnedRing first = OwnedRing.Open(File, options);
        Assert.Throws<IOException>(() => OwnedRing.Open(File, options));
        Assert.Equal(EventRingOpenError.None, SharedEventRing.TryOpen(File, options, writable: false, out _));
    }

    [Fact]
    public void An_orderly_end_removes_the_file_and_a_crash_is_taken_over()
    {
        var options = new EventRingOptions { Capacity = 64 };
        SharedEventRing.Create(File, options).CreateProducer().TryPublish(1, "x"u8);
        using (OwnedRing ring = OwnedRing.Open(File, options))
        {
            Assert.Equal(EventRingOpenError.None, ring.Refused);
            Assert.Equal(1, ring.Ring.Head);
        }

        Assert.False(System.IO.File.Exists(File));
    }

    [Fact]
    public void Nonsense_in_the_place_of_the_ring_is_replaced_and_named()
    {
        System.IO.File.WriteAllBytes(File, new byte[10_000]);
        using OwnedRing ring = OwnedRing.Open(File, new EventRingOptions { Capacity = 64 });
        Assert.Equal(EventRingOpenError.BadMagic, ring.Refused);
        Assert.Equal(PublishStatus.Published, ring.Ring.CreateProducer().TryPublish(1, "x"u8));
    }

    [Fact]
    public void A_disk_without_room_is_an_error_when_the_ring_is_made_and_never_a_signal_later()
    {
        Assert.SkipUnless(Directory.Exists("/dev/shm"), "Needs a file system in memory, which refuses at once what it cannot hold.");
        string path = $"/dev/shm/tunnel2-full-{Guid.NewGuid():N}.ring";
        var huge = new EventRingOptions { Capacity = 1 << 24, SlotSize = 32_768 };
        IOException error = Assert.Throws<IOException>(() => SharedEventRing.Create(path, huge));
        Assert.Contains("no room", error.Message);
        Assert.Empty(Directory.GetFiles("/dev/shm", Path.GetFileName(path) + "*"));
    }

    [Fact]
    [SuppressMessage("Interoperability", "CA1416", Justification = "Skipped elsewhere than on Linux.")]
    public void A_ring_has_all_its_bytes_from_the_beginning_and_only_its_owner_may_read_them()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Modes are Unix's.");
        using OwnedRing ring = OwnedRing.Open(File, new EventRingOptions { Capacity = 4096 });
        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, System.IO.File.GetUnixFileMode(File));
        Assert.Null(RuntimeDirectory.WhyUnsafe(_directory));
        System.IO.File.SetUnixFileMode(_directory, (UnixFileMode)Convert.ToInt32("777", 8));
        Assert.NotNull(RuntimeDirectory.WhyUnsafe(_directory));
    }
}
