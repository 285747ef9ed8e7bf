using Tunnel2.Client.Screens;

namespace Tunnel2.Client.Tests.Screens;

public sealed class HeldWriterTests : IDisposable
{
    private readonly StringWriter _inner = new() { NewLine = "\n" };

    public void Dispose() => _inner.Dispose();

    [Fact]
    public async Task What_is_written_waits_while_it_is_held_and_comes_in_order()
    {
        await using var writer = new HeldWriter(_inner);
        await writer.WriteLineAsync("a");
        writer.Hold();
        writer.Write('b');
        writer.Write(['c', 'd'], 1, 1);
        await writer.WriteLineAsync("e");
        Assert.Equal("a\n", _inner.ToString());
        writer.Release();
        writer.WriteLine("f");
        Assert.Equal("a\nbde\nf\n", _inner.ToString());
    }

    [Fact]
    public void A_flood_is_bounded()
    {
        using var writer = new HeldWriter(_inner);
        writer.Hold();
        for (int i = 0; i < 1000; i++)
        {
            writer.WriteLine(new string('x', 1000));
        }

        writer.Release();
        Assert.Equal(64 * 1024, _inner.ToString().Length);
    }
}
