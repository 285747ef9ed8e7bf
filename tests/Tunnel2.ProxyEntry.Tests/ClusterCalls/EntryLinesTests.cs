using System.Globalization;
using System.IO.Pipelines;
using System.Text;
using Tunnel2.ProxyEntry.ClusterCalls;

namespace Tunnel2.ProxyEntry.Tests.ClusterCalls;

public sealed class EntryLinesTests
{
    private const int Longest = 1000;

    private static CancellationToken Ending => TestContext.Current.CancellationToken;

    [Fact]
    public async Task Entries_come_one_after_the_other_with_their_times_in_any_pieces()
    {
        var text = Encoding.UTF8.GetBytes(
            "{\"a\":{\"startedDateTime\":\"x\"},\"startedDateTime\":\"2026-11-26T10:00:01Z\"}\n{\"startedDateTime\":7}\n{}\n");
        for (var piece = 1; piece <= text.Length; piece++)
        {
            var pipe = new Pipe();
            var lines = new EntryLines(pipe.Reader, Longest);
            var reading = ReadAllAsync(lines);
            foreach (var bytes in text.Chunk(piece))
            {
                await pipe.Writer.WriteAsync(bytes, Ending);
            }

            await pipe.Writer.CompleteAsync();
            Assert.Equal(["10:00:01", "00:00:00", "00:00:00"], await reading);
        }
    }

    [Theory]
    [InlineData(Longest, true)]
    [InlineData(Longest + 1, false)]
    public async Task An_entry_is_as_long_as_it_may_be_and_no_longer(int length, bool isTaken)
    {
        var pipe = new Pipe(new PipeOptions(pauseWriterThreshold: 0));
        await pipe.Writer.WriteAsync(Encoding.ASCII.GetBytes($"\"{new string('x', length - 2)}\"\n{{}}\n"), Ending);
        var lines = new EntryLines(pipe.Reader, Longest);
        if (isTaken)
        {
            await lines.NextAsync(Ending);
            Assert.Equal(length, lines.Line.Length);
        }
        else
        {
            await Assert.ThrowsAsync<InvalidDataException>(() => lines.NextAsync(Ending).AsTask());
        }
    }

    [Fact]
    public async Task A_line_that_does_not_end_is_given_up_when_it_is_too_long()
    {
        var pipe = new Pipe(new PipeOptions(pauseWriterThreshold: 0));
        var next = new EntryLines(pipe.Reader, Longest).NextAsync(Ending).AsTask();
        await pipe.Writer.WriteAsync(new byte[Longest], Ending);
        Assert.False(next.IsCompleted);
        await pipe.Writer.WriteAsync(new byte[1], Ending);
        await Assert.ThrowsAsync<InvalidDataException>(() => next);
    }

    [Fact]
    public async Task A_line_that_was_cut_is_no_entry()
    {
        var pipe = new Pipe();
        await pipe.Writer.WriteAsync("{}"u8.ToArray(), Ending);
        await pipe.Writer.CompleteAsync();
        await Assert.ThrowsAsync<InvalidDataException>(() => new EntryLines(pipe.Reader, Longest).NextAsync(Ending).AsTask());
    }

    private static async Task<List<string>> ReadAllAsync(EntryLines lines)
    {
        var times = new List<string>();
        while (true)
        {
            await lines.NextAsync(Ending);
            if (lines.Line.Length == 0)
            {
                return times;
            }

            times.Add(lines.Time.ToString("HH:mm:ss", CultureInfo.InvariantCulture));
        }
    }
}
