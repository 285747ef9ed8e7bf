using System.Buffers;
using System.IO.Pipelines;
using System.Text.Json;

namespace Tunnel2.ProxyEntry.ClusterCalls;

/// <summary>The entries of a HAR file that a node sends, each in a line. One of them is in memory. Not thread-safe.</summary>
/// <param name="input">The lines. Belongs to the caller.</param>
/// <param name="longest">The longest line, in bytes.</param>
internal sealed class EntryLines(PipeReader input, long longest)
{
    private SequencePosition? _after;

    /// <summary>The entry; empty: there is no further one. Valid until the next one is read.</summary>
    public ReadOnlySequence<byte> Line { get; private set; }

    /// <summary>When it has begun.</summary>
    public DateTimeOffset Time { get; private set; }

    /// <summary>Goes to the next entry.</summary>
    /// <exception cref="InvalidDataException">It is too long, or was cut.</exception>
    public async ValueTask NextAsync(CancellationToken cancellationToken)
    {
        if (_after is { } after)
        {
            input.AdvanceTo(after);
            _after = null;
        }

        Line = default;
        for (var searched = 0L; ;)
        {
            var read = await input.ReadAsync(cancellationToken).ConfigureAwait(false);
            var end = read.Buffer.Slice(searched).PositionOf((byte)'\n');
            searched = read.Buffer.Length;
            var line = end is { } at ? read.Buffer.Slice(0, at) : read.Buffer;
            if (line.Length > longest || (end is null && read.IsCompleted && !line.IsEmpty))
            {
                throw new InvalidDataException("A node has sent what is no entry.");
            }

            if (end is { } position)
            {
                Line = line;
                _after = read.Buffer.GetPosition(1, position);
                Time = TimeOf(line);
                return;
            }

            input.AdvanceTo(read.Buffer.Start, read.Buffer.End);
            if (read.IsCompleted)
            {
                return;
            }
        }
    }

    private static DateTimeOffset TimeOf(in ReadOnlySequence<byte> line)
    {
        var reader = new Utf8JsonReader(line);
        while (reader.Read())
        {
            if (reader is { TokenType: JsonTokenType.PropertyName, CurrentDepth: 1 } && reader.ValueTextEquals("startedDateTime"u8))
            {
                return reader.Read() && reader.TokenType == JsonTokenType.String && reader.TryGetDateTimeOffset(out var time)
                    ? time : default;
            }
        }

        return default;
    }
}
