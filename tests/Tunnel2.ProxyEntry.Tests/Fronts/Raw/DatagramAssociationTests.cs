using System.Buffers;
using System.Net;
using Tunnel2.ProxyEntry.Fronts.Raw;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Datagrams;

namespace Tunnel2.ProxyEntry.Tests.Fronts.Raw;

/// <summary>What waits of a visitor's datagrams, and what is dropped.</summary>
public sealed class DatagramAssociationTests : IDisposable
{
    private readonly DatagramPort _port = new(new IPEndPoint(IPAddress.Loopback, 0));
    private readonly ManualTimeProvider _time = new();
    private readonly DatagramMemory _all = new(1024 * 1024);

    public void Dispose()
    {
        _port.Dispose();
        _all.Dispose();
    }

    [Fact]
    public void Datagrams_wait_each_after_its_length_and_no_memory_is_held_when_all_are_read()
    {
        using var memory = new DatagramMemory(1024 * 1024, _all);
        var association = Create(memory);
        Assert.Equal(0, memory.Held);
        Assert.True(association.TryWrite([1, 2, 3]));
        Assert.True(association.TryWrite([]));
        Assert.True(memory.Held > 0);
        Assert.Equal([0, 3, 1, 2, 3, 0, 0], ReadAll(association));
        Assert.Equal((0, 0), (memory.Held, _all.Held));
    }

    [Fact]
    public void Beyond_what_an_association_may_hold_datagrams_are_dropped_until_some_were_read()
    {
        using var memory = new DatagramMemory(64 * 1024 * 1024);
        var association = Create(memory);
        var taken = Fill(association, 60_000);
        Assert.Equal(5, taken);
        ReadAll(association);
        Assert.True(association.TryWrite([1]));
    }

    [Fact]
    public void Beyond_what_a_port_may_hold_datagrams_of_every_visitor_are_dropped()
    {
        using var memory = new DatagramMemory(200_000, _all);
        var (flood, other) = (Create(memory), Create(memory));
        Assert.InRange(Fill(flood, 1_400), 1, 200);
        Assert.False(other.TryWrite([1]));
        ReadAll(flood);
        Assert.True(other.TryWrite([1]));
    }

    [Fact]
    public void Beyond_what_all_ports_may_hold_datagrams_of_every_port_are_dropped()
    {
        using var one = new DatagramMemory(64 * 1024 * 1024, _all);
        using var two = new DatagramMemory(64 * 1024 * 1024, _all);
        DatagramAssociation[] flood = [.. Enumerable.Range(0, 8).Select(_ => Create(one))];
        Array.ForEach(flood, static association => Fill(association, 60_000));
        Assert.InRange(_all.Held, 1024 * 1024, 1024 * 1024 + 131_072);
        var other = Create(two);
        Assert.False(other.TryWrite([1]));
        Array.ForEach(flood, static association => ReadAll(association));
        Assert.True(other.TryWrite([1]));
    }

    [Fact]
    public async Task Silence_begins_anew_with_each_datagram_in_either_direction()
    {
        using var memory = new DatagramMemory(1024 * 1024);
        var association = Create(memory);
        _time.Advance(TimeSpan.FromSeconds(2));
        Assert.Equal(TimeSpan.FromSeconds(2), association.Silence);
        Assert.True(association.TryWrite([1]));
        Assert.Equal(TimeSpan.Zero, association.Silence);
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.True(await association.Transport.Output.SendAsync(new byte[] { 0, 0 }));
        Assert.Equal(TimeSpan.Zero, association.Silence);
    }

    [Fact]
    public void One_that_is_over_takes_nothing()
    {
        using var memory = new DatagramMemory(1024 * 1024);
        var association = Create(memory);
        association.End();
        association.End();
        Assert.True(association.IsOver);
        Assert.False(association.TryWrite([1]));
    }

    private DatagramAssociation Create(DatagramMemory memory) =>
        new(_port, new IPEndPoint(IPAddress.Parse("10.1.2.3"), 5).Serialize(), default, memory, _time);

    /// <summary>Writes until one is dropped.</summary>
    private static int Fill(DatagramAssociation association, int length)
    {
        var datagram = new byte[length];
        var taken = 0;
        while (association.TryWrite(datagram))
        {
            taken++;
        }

        return taken;
    }

    private static byte[] ReadAll(DatagramAssociation association)
    {
        if (!association.Transport.Input.TryRead(out var read))
        {
            return [];
        }

        var bytes = read.Buffer.ToArray();
        association.Transport.Input.AdvanceTo(read.Buffer.End);
        return bytes;
    }
}
