using System.Buffers.Text;
using Tunnel2.LoadTests.Statistics;

namespace Tunnel2.LoadTests.Exchanges;

/// <summary>
/// Server-sent events as the test backend writes them: <c>id: N</c> in sequence from 0, <c>data:</c> with a time, an empty line.
/// </summary>
/// <param name="count">How many.</param>
internal sealed class EventsBody(int count) : IBodyCheck
{
    private const int MaxLine = 64;

    private readonly byte[] _line = new byte[MaxLine];
    private int _lineLength;
    private int _lineOfEvent;
    private long _events;

    /// <inheritdoc/>
    public bool IsComplete => _events == count && _lineOfEvent == 0 && _lineLength == 0;

    /// <inheritdoc/>
    public void Begin(long index) => (_lineLength, _lineOfEvent, _events) = (0, 0, 0);

    /// <inheritdoc/>
    public FailureKind Take(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            var end = bytes.IndexOf((byte)'\n');
            var part = end < 0 ? bytes : bytes[..end];
            if (_lineLength + part.Length > MaxLine)
            {
                return FailureKind.WrongBody;
            }

            part.CopyTo(_line.AsSpan(_lineLength));
            _lineLength += part.Length;
            if (end < 0)
            {
                break;
            }

            if (!TakeLine(_line.AsSpan(0, _lineLength)))
            {
                return FailureKind.WrongBody;
            }

            _lineLength = 0;
            bytes = bytes[(end + 1)..];
        }

        return FailureKind.None;
    }

    private bool TakeLine(ReadOnlySpan<byte> line)
    {
        switch (_lineOfEvent++)
        {
            case 0:
                return _events < count && HasNumber(line, "id: "u8, out var id) && id == _events;
            case 1:
                return HasNumber(line, "data: "u8, out _);
            default:
                _lineOfEvent = 0;
                _events++;
                return line.IsEmpty;
        }
    }

    private static bool HasNumber(ReadOnlySpan<byte> line, ReadOnlySpan<byte> name, out long number)
    {
        number = 0;
        return line.StartsWith(name)
            && Utf8Parser.TryParse(line[name.Length..], out number, out var length)
            && name.Length + length == line.Length;
    }
}
